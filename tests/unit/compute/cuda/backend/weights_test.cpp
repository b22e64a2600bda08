// Matmuls and embeddings of the CUDA backend with weights of each kind, compared with the reference.
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

class CudaWeights : public CudaTest {
 protected:
  // Rows, and then a part of their columns, times matrices of these types stacked.
  void ExpectProducts(const std::vector<TensorType>& types, int64_t rows, int64_t inputs, int64_t outputs,
                      double bound) {
    std::vector<OwnedMatrix> owned;
    std::vector<HostMatrix> parts;
    for (const TensorType type : types) {
      owned.push_back(RandomMatrix(type, random, outputs, inputs));
      parts.push_back(owned.back().matrix);
    }
    const auto ours = Cuda::LoadMatrix(context, parts);
    ASSERT_TRUE(ours) << ours.error().message;
    const auto theirs = Reference::LoadMatrix(reference, parts);
    const auto x = Random(rows, inputs + 24);
    const auto on = On(x);
    for (const int64_t first : {0, 8, 3}) {  // 3: not at a multiple of 16 bytes
      const double error = Error(Cuda::MatMul(context, Cuda::Columns(on, first, inputs), *ours),
                                 Reference::MatMul(reference, Reference::Columns(x, first, inputs), *theirs));
      EXPECT_LT(error, bound) << formats::TensorTypeName(types.front()) << ", " << rows << " x " << inputs << " x "
                              << outputs << ", from column " << first;
    }
  }
};

TEST_F(CudaWeights, DenseProducts) {
  ExpectProducts({TensorType::kF32}, 2, 48, 20, 1e-6);
  ExpectProducts({TensorType::kF32}, 5, 48, 20, 1e-6);
  ExpectProducts({TensorType::kF16}, 5, 48, 20, 1e-3);
  ExpectProducts({TensorType::kBf16}, 5, 48, 20, 6e-3);
  ExpectProducts({TensorType::kBf16}, 70, 48, 20, 6e-3);  // by cuBLASLt
  ExpectProducts({TensorType::kF16}, 70, 48, 20, 1e-3);
  ExpectProducts({TensorType::kF16}, 1, 44, 33, 1e-3);  // inputs that need padding
}

TEST_F(CudaWeights, StackedParts) {
  ExpectProducts({TensorType::kF16, TensorType::kF16, TensorType::kF16}, 3, 32, 20, 1e-3);
  ExpectProducts({TensorType::kF32, TensorType::kBf16, TensorType::kF32, TensorType::kF16}, 5, 32, 17, 6e-3);
}

TEST_F(CudaWeights, BlocksAreMultipliedAsTheyAre) {
  for (const TensorType type : {TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K, TensorType::kNvfp4}) {
    ExpectProducts({type}, 1, 256, 9, 1e-4);  // 16-bit integers
    ExpectProducts({type}, 2, 256, 9, 1e-3);
    ExpectProducts({type}, 6, 256, 9, 1e-3);
    ExpectProducts({type}, 70, 256, 9, 1e-3);  // unpacked, and by cuBLASLt
  }
  ExpectProducts({TensorType::kMxfp4}, 6, 64, 9, 6e-3);
  ExpectProducts({TensorType::kMxfp4}, 70, 64, 9, 6e-3);
  ExpectProducts({TensorType::kQ4_0, TensorType::kQ4_0, TensorType::kQ8_0}, 6, 64, 9, 1e-3);
}

TEST_F(CudaWeights, OtherTypesAreConverted) {
  for (const TensorType type : {TensorType::kQ2_K, TensorType::kIq3S, TensorType::kQ5_1}) {
    ExpectProducts({type}, 2, 256, 9, 1.5e-3);
  }
}

// FP16 does not bound what a model computes.
TEST_F(CudaWeights, ActivationsMayBeLarge) {
  const auto owned = RandomMatrix(TensorType::kF16, random, 9, 32);
  const auto ours = *Cuda::LoadMatrix(context, {&owned.matrix, 1});
  const auto theirs = *Reference::LoadMatrix(reference, {&owned.matrix, 1});
  auto x = Random(2, 32);
  for (int c = 0; c < 32; ++c) x.row(1)[c] *= 1e7f;
  for (const int64_t row : {0, 1}) {
    const host::View one = Rows(x, row, 1);
    EXPECT_LT(Error(Cuda::MatMul(context, On(one), ours), Reference::MatMul(reference, one, theirs)), 1e-3);
  }
}

// With few rows and with many, with weights that take what is rounded and with others.
TEST_F(CudaWeights, AGatesProductIsThatOfTheGate) {
  for (const TensorType type : {TensorType::kBf16, TensorType::kF16, TensorType::kQ8_0}) {
    const auto owned = RandomMatrix(type, random, 20, 96);
    const auto ours = Cuda::LoadMatrix(context, {&owned.matrix, 1});
    for (const int64_t rows : {2, 9, 70}) {
      const auto both = Random(rows, 192);
      const auto on = On(both);
      const auto gate = Cuda::Columns(on, 0, 96), up = Cuda::Columns(on, 96, 96);
      const auto fused = Cuda::GateMatMul(context, gate, up, Activation::kSilu, *ours);
      const auto apart = Cuda::MatMul(context, Cuda::Gate(context, gate, up, Activation::kSilu), *ours);
      EXPECT_EQ(Cuda::Read(context, fused), Cuda::Read(context, apart)) << formats::TensorTypeName(type) << rows;
    }
  }
}

TEST_F(CudaWeights, TablesGiveTheirRows) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16, TensorType::kQ8_0}) {
    const auto owned = RandomMatrix(type, random, 12, 64);
    const auto ours = *Cuda::LoadTable(context, owned.matrix);
    const auto theirs = *Reference::LoadTable(reference, owned.matrix);
    const StepGeometry step{.tokens = {11, 0, 5}, .positions = {0, 1, 2}, .query_starts = {0, 3}};
    EXPECT_LT(
        Error(Cuda::Embed(context, ours, Cuda::LoadBatch(context, step)), Reference::Embed(reference, theirs, step)),
        1e-9);
  }
}

TEST_F(CudaWeights, CountsWhatTheyTake) {
  const auto owned = RandomMatrix(TensorType::kF16, random, 10, 64);
  const MemoryInfo before = Cuda::Memory(context);
  const auto matrix = *Cuda::LoadMatrix(context, {&owned.matrix, 1});
  EXPECT_EQ(Cuda::Memory(context).weight_bytes - before.weight_bytes, 10 * 64 * 2);
  EXPECT_GE(before.free - Cuda::Memory(context).free, 10 * 64 * 2);  // CUDA takes whole pages
  EXPECT_NE(Cuda::Describe(matrix).find("F16 [10, 64]"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::compute::testing
