// AMX's tiles must give the results of the vectors that they replace. Registered if the machine has AMX.
#include <initializer_list>
#include <limits>
#include <utility>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

// One of each packed format, and types with other values that share a format.
constexpr TensorType kBlockTypes[] = {TensorType::kQ8_0, TensorType::kQ5_0,  TensorType::kQ4_0, TensorType::kQ4_1,
                                      TensorType::kQ5_1, TensorType::kIq4Nl, TensorType::kMxfp4};
constexpr TensorType kChunkTypes[] = {TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kQ4_K, TensorType::kQ5_K,
                                      TensorType::kQ6_K, TensorType::kIq3S, TensorType::kTq1_0};

// Row counts that fill tiles and that do not, including more than one task has.
constexpr int kRowCounts[] = {1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 47, 48, 49, 63, 64, 70};

// Inputs that many rows process in more than one pass.
constexpr int kSlabs = 5376;

class CpuTilesTest : public CpuTest {
 protected:
  // Every row count times weights of each [outputs, inputs].
  void ExpectTheBitsOfVectors(TensorType type, std::initializer_list<std::pair<int, int>> shapes) {
    for (const auto& [outputs, inputs] : shapes) ExpectTheBitsOfVectors(RandomMatrix(type, random, outputs, inputs));
  }
  void ExpectTheBitsOfVectors(const OwnedMatrix& weights) {
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    for (const int rows : kRowCounts) {
      if (weights.matrix.cols == kSlabs && rows != 63) continue;
      const auto x = Random(rows, weights.matrix.cols);
      EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, x, matrix), Cpu::MatMul(vectors, x, matrix)))
          << Cpu::Describe(matrix) << " x " << rows;
    }
  }

  Cpu::Context vectors{pool, CpuIsa::kAvx512Vnni};
};

TEST_P(CpuTilesTest, BlocksGiveTheBitsOfVectors) {
  for (const TensorType type : kBlockTypes) {
    ExpectTheBitsOfVectors(type, {{1, 32}, {16, 96}, {37, 288}, {70, 576}, {100, kSlabs}});
  }
}

TEST_P(CpuTilesTest, ZeroPoint4BlocksGiveTheBitsOfVectors) {
  for (const int run : {1, 4}) {
    for (const auto& [outputs, inputs] : {std::pair{1, 32}, {37, 288}, {70, 576}, {100, kSlabs}}) {
      ExpectTheBitsOfVectors(ZeroPoint4Matrix(random, outputs, inputs, run));
    }
  }
}

TEST_P(CpuTilesTest, ChunksGiveTheBitsOfVectors) {
  for (const TensorType type : kChunkTypes) {
    ExpectTheBitsOfVectors(type, {{1, 256}, {37, 512}, {70, 768}, {100, kSlabs}});
  }
}

// A weight times its scale takes a signed byte and an unsigned one: test both at the ends of their ranges.
TEST_P(CpuTilesTest, TheLargestProductsAreExact) {
  for (const TensorType type : kChunkTypes) {
    for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
      OwnedMatrix weights = RandomMatrix(type, random, 16, 512);
      const size_t block = weights.bytes.size() / 32;  // of 256 inputs; its scales are its first or last four bytes
      for (size_t i = 0; i < weights.bytes.size(); ++i) {
        if (i % block >= 4 && i % block < block - 4) weights.bytes[i] = static_cast<std::byte>(byte);
      }
      const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
      auto x = reference.arena.Allocate(16, 512);
      for (int r = 0; r < 16; ++r) std::fill_n(x.row(r), 512, r % 2 == 0 ? 127.0f - r : r - 127.0f);
      EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, x, matrix), Cpu::MatMul(vectors, x, matrix)))
          << formats::TensorTypeName(type) << " of " << byte;
    }
  }
}

// Tiles add up bfloat16 dot products in another order, and must do so for every number of rows.
TEST_P(CpuTilesTest, Bf16RowsDoNotDependOnTheirBatch) {
  for (const auto& [outputs, inputs] : {std::pair{1, 1}, {16, 31}, {33, 32}, {70, 255}, {64, 1100}, {130, 2080}}) {
    const OwnedMatrix weights = RandomMatrix(TensorType::kBf16, random, outputs, inputs);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    const auto expected = *Reference::LoadMatrix(reference, {&weights.matrix, 1});
    for (const int rows : kRowCounts) {
      const auto x = Random(rows, inputs);
      const auto all = Cpu::MatMul(cpu, x, matrix);
      EXPECT_LT(RelativeError(all, Cpu::MatMul(vectors, x, matrix)), 2e-6) << inputs << " x " << rows;
      EXPECT_LT(RelativeError(all, Reference::MatMul(reference, x, expected)), 6e-3) << inputs << " x " << rows;
      for (int r = 0; r < rows; r += 5) {
        EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, Rows(x, r, 1), matrix), Rows(all, r, 1))) << inputs << ", row " << r;
      }
    }
  }
}

TEST_P(CpuTilesTest, Bf16RowsDoNotSeeTheirNeighbours) {
  for (const int inputs : {3, 40, 255}) {
    const OwnedMatrix weights = RandomMatrix(TensorType::kBf16, random, 40, inputs);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    auto x = Random(20, inputs);
    const auto before = Cpu::MatMul(cpu, x, matrix);
    for (int r = 1; r < 20; r += 2) std::fill_n(x.row(r), inputs, std::numeric_limits<float>::quiet_NaN());
    const auto after = Cpu::MatMul(cpu, x, matrix);
    for (int r = 0; r < 20; r += 2) EXPECT_TRUE(SameBits(Rows(before, r, 1), Rows(after, r, 1))) << inputs;
  }
}

std::vector<CpuIsa> WithTiles() {
  std::vector<CpuIsa> out = ::inferflux::testing::RunnableIsas();
  std::erase_if(out, [](CpuIsa isa) { return isa != CpuIsa::kAmx; });
  return out;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CpuTilesTest);
INSTANTIATE_TEST_SUITE_P(Isa, CpuTilesTest, ::testing::ValuesIn(WithTiles()), IsaTestName);

}  // namespace
}  // namespace inferflux::compute::testing
