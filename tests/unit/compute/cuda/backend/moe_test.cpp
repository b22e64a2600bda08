// Mixture of experts on the CUDA backend, compared with the reference.
#include <limits>

#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

class CudaMoe : public CudaTest {
 protected:
  std::vector<int32_t> ExpertsOf(const Cuda::Routing& routing) {
    std::vector<int32_t> out(static_cast<size_t>(routing.rows) * static_cast<size_t>(routing.used));
    EXPECT_TRUE(context.runtime->CopyToHost(out.data(), routing.experts, out.size() * sizeof(int32_t), context.stream));
    EXPECT_TRUE(context.runtime->Synchronize(context.stream));
    return out;
  }
  void ExpectSame(const Cuda::Routing& actual, const host::Routing& expected) {
    EXPECT_EQ(ExpertsOf(actual), expected.experts);
    const Cuda::View weights{actual.weights, actual.rows, actual.used, actual.used};
    EXPECT_LT(Error(weights, {expected.weights.data(), expected.rows, expected.used, expected.used}), 2e-6);
  }
};

TEST_F(CudaMoe, RoutesAsTheReferenceAlsoWhereLogitsAreEqual) {
  auto logits = Random(17, 6);
  for (int64_t r = 0; r < 6; ++r) std::fill_n(logits.row(r), 6, r % 2 == 0 ? 1.0f : -2.0f);
  logits.row(0)[4] = 3.0f;
  for (const bool normalise : {false, true}) {
    const RoutingParams params{.used = 3, .normalise = normalise};
    ExpectSame(Cuda::Route(context, On(logits), params), Reference::Route(reference, logits, params));
  }
}

TEST_F(CudaMoe, MixesSparselyAsTheReference) {
  const auto logits = Reference::Scale(reference, Random(17, 40), 3.0f);
  for (const float tolerance : {0.0f, 0.3f, 2.0f}) {
    const RoutingParams params{.used = 3, .score = ExpertScore::kSparseMixer, .scale = 1.5f, .tolerance = tolerance};
    ExpectSame(Cuda::Route(context, On(logits), params), Reference::Route(reference, logits, params));
  }
}

TEST_F(CudaMoe, RoutesWithBiasesAndGroups) {
  const auto logits = Random(17, 48), biases = Random(1, 48);
  for (const ExpertScore score : {ExpertScore::kSoftmax, ExpertScore::kSigmoid}) {
    for (const int32_t groups : {1, 4, 48}) {
      const RoutingParams params{.used = 3,
                                 .normalise = true,
                                 .score = score,
                                 .scale = 2.5f,
                                 .groups = groups,
                                 .used_groups = groups == 1 ? 1 : 3};
      const host::View host_biases = biases;
      const Cuda::Buffer held = On(biases);
      const Cuda::View on_device = held;
      ExpectSame(Cuda::Route(context, On(logits), params, &on_device),
                 Reference::Route(reference, logits, params, &host_biases));
    }
  }
}

TEST_F(CudaMoe, BrokenLogitsStillNameDistinctExpertsInRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan}, {nan, 1.0f, inf}, {-inf, -inf, -inf}}) {
    auto chosen = ExpertsOf(Cuda::Route(context, On({logits.data(), 1, 3, 3}), {.used = 3}));
    std::sort(chosen.begin(), chosen.end());
    EXPECT_EQ(chosen, (std::vector<int32_t>{0, 1, 2}));
  }
}

// The whole way of a layer: gate and up with types of their own, then down line by line, and what is added up. Few rows
// are multiplied in float; the lines of many are sorted by expert for the tensor cores, of which the last case gives
// some experts several tiles.
TEST_F(CudaMoe, ExpertsMultiplyTheirLines) {
  constexpr int64_t kInputs = 64, kOutputs = 12, kExperts = 4;
  std::vector<OwnedMatrix> owned;
  for (int64_t e = 0; e < kExperts; ++e) {
    owned.push_back(RandomMatrix(TensorType::kQ8_0, random, kOutputs, kInputs));
    owned.push_back(RandomMatrix(TensorType::kMxfp4, random, kOutputs + 1, kInputs));
    owned.push_back(RandomMatrix(TensorType::kF32, random, 3, kInputs));
  }
  std::vector<std::vector<HostMatrix>> parts;
  for (size_t e = 0; e < kExperts; ++e) {
    parts.push_back({owned[3 * e].matrix, owned[3 * e + 1].matrix, owned[3 * e + 2].matrix});
  }
  const auto ours = Cuda::LoadExperts(context, parts);
  ASSERT_TRUE(ours) << ours.error().message;
  const auto theirs = *Reference::LoadExperts(reference, parts);
  for (const int64_t rows : {3, 7, 140}) {
    SCOPED_TRACE(rows);
    const double bound = rows < 5 ? 2e-6 : 3e-3;
    auto logits = Random(rows, kExperts);
    for (int64_t r = 0; r < rows; ++r) logits.row(r)[1] += 2.0f;  // most lines are one expert's
    const auto x = Random(rows, kInputs), lines = Random(rows * 2, kInputs);
    const RoutingParams params{.used = 2, .normalise = true};
    const auto routing = Cuda::Route(context, On(logits), params);
    const auto expected_routing = Reference::Route(reference, logits, params);
    for (const host::View input : {host::View(x), host::View(lines)}) {
      const auto y = Cuda::ExpertMatMul(context, On(input), *ours, routing);
      const auto expected = Reference::ExpertMatMul(reference, input, theirs, expected_routing);
      EXPECT_LT(Error(y, expected), bound);
      const auto terms = Random(1, kExperts * (2 * kOutputs + 4));
      EXPECT_LT(Error(Cuda::AddExpertBias(context, y, On(terms), routing),
                      Reference::AddExpertBias(reference, expected, terms, expected_routing)),
                bound);
      EXPECT_LT(Error(Cuda::ScaleExpertColumns(context, y, On(terms), routing),
                      Reference::ScaleExpertColumns(reference, expected, terms, expected_routing)),
                bound);
      EXPECT_LT(Error(Cuda::Combine(context, y, routing), Reference::Combine(reference, expected, expected_routing)),
                bound);
    }
    const auto gates = Random(rows, 1);
    EXPECT_LT(Error(Cuda::GateRows(context, On(x), On(gates)), Reference::GateRows(reference, x, gates)), 1e-6);
  }
}

// Some checkpoints quantise all experts but one.
TEST_F(CudaMoe, ExpertsOfTwoTypesBecomeFp16) {
  const auto one = RandomMatrix(TensorType::kQ8_0, random, 4, 64),
             other = RandomMatrix(TensorType::kF32, random, 4, 64);
  const std::vector<std::vector<HostMatrix>> parts = {{one.matrix}, {other.matrix}};
  const auto ours = Cuda::LoadExperts(context, parts);
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_NE(Cuda::DescribeExperts(*ours).find("as F16"), std::string::npos);
  const auto theirs = *Reference::LoadExperts(reference, parts);
  const auto logits = Random(5, 2), x = Random(5, 64);
  const RoutingParams params{.used = 2};
  EXPECT_LT(Error(Cuda::ExpertMatMul(context, On(x), *ours, Cuda::Route(context, On(logits), params)),
                  Reference::ExpertMatMul(reference, x, theirs, Reference::Route(reference, logits, params))),
            1e-3);
  EXPECT_FALSE(Cuda::LoadExperts(context, {}));
}

}  // namespace
}  // namespace inferflux::compute::testing
