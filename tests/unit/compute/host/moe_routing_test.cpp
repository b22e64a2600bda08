// Mixture of experts (MoE) as published: every expert is computed for every row, and the chosen ones are summed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "compute/compare.h"
#include "compute/host/copies.h"
#include "compute/random_data.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {
namespace {

host::View Row(const std::vector<float>& values) {
  const auto n = static_cast<int64_t>(values.size());
  return {values.data(), 1, n, n};
}

TEST(MoeRouting, TakesTheHighestWithTheirProbabilities) {
  // softmax of log(1..4) is 0.1, 0.2, 0.3, 0.4.
  const std::vector<float> logits{std::log(2.0f), std::log(4.0f), std::log(1.0f), std::log(3.0f)};
  const auto routing = host::Route(Row(logits), {.used = 2, .normalise = false});
  EXPECT_EQ(routing.experts, (std::vector<int32_t>{1, 3}));
  EXPECT_NEAR(routing.weights[0], 0.4, 1e-6);
  EXPECT_NEAR(routing.weights[1], 0.3, 1e-6);
}

TEST(MoeRouting, NormalisedWeightsSumToOneInTheSameRatio) {
  const std::vector<float> logits{std::log(2.0f), std::log(4.0f), std::log(1.0f), std::log(3.0f)};
  const auto routing = host::Route(Row(logits), {.used = 2, .normalise = true});
  EXPECT_NEAR(routing.weights[0], 4.0 / 7.0, 1e-6);
  EXPECT_NEAR(routing.weights[1], 3.0 / 7.0, 1e-6);
}

// Sigmoids of 0, 1, 2 and -1 are 0.5, 0.731, 0.881 and 0.269.
TEST(MoeRouting, ABiasDecidesWhichExpertIsChosenButNotItsWeight) {
  const std::vector<float> logits{0.0f, 1.0f, 2.0f, -1.0f}, biases{0.0f, 0.0f, -1.0f, 1.0f};
  const host::View of_choice = Row(biases);
  const RoutingParams params{.used = 2, .score = ExpertScore::kSigmoid, .scale = 2.0f};
  const auto routing = host::Route(Row(logits), params, &of_choice);
  EXPECT_EQ(routing.experts, (std::vector<int32_t>{3, 1}));
  EXPECT_NEAR(routing.weights[0], 2.0 * 0.268941, 1e-5);
  EXPECT_NEAR(routing.weights[1], 2.0 * 0.731059, 1e-5);
}

// The best expert is in a group whose two best together are worse than the other group's.
TEST(MoeRouting, ExpertsOfOtherGroupsAreLeftOut) {
  const std::vector<float> logits{5.0f, -5.0f, -4.0f, 1.0f, 2.0f, 0.0f};
  const RoutingParams params{.used = 2, .score = ExpertScore::kSigmoid, .groups = 2, .used_groups = 1};
  EXPECT_EQ(host::Route(Row(logits), params).experts, (std::vector<int32_t>{4, 3}));
}

// Three groups of two, of which two are chosen from, by their best expert or by both.
TEST(MoeRouting, SeveralGroupsMayBeChosenFrom) {
  const std::vector<float> logits{3.0f, -9.0f, 2.0f, 2.0f, 1.0f, 2.5f};
  RoutingParams params{.used = 3, .score = ExpertScore::kSigmoid, .groups = 3, .used_groups = 2, .group_scores = 1};
  EXPECT_EQ(host::Route(Row(logits), params).experts, (std::vector<int32_t>{0, 5, 4})) << "3 and 2.5 are the best";
  params.group_scores = 2;
  EXPECT_EQ(host::Route(Row(logits), params).experts, (std::vector<int32_t>{5, 2, 3})) << "the first has -9 too";
  params.group_scores = 9;
  EXPECT_EQ(host::Route(Row(logits), params).experts, (std::vector<int32_t>{5, 2, 3})) << "a group has no more";
  params.used_groups = 3;
  EXPECT_EQ(host::Route(Row(logits), params).experts, (std::vector<int32_t>{0, 5, 2}));
  params.groups = params.used_groups = 1;
  EXPECT_EQ(host::Route(Row(logits), params).experts, (std::vector<int32_t>{0, 5, 2}));
}

TEST(MoeRouting, WeightsAreScaledAfterTheyWereNormalisedAndEachRowHasItsOwn) {
  const std::vector<float> logits{std::log(1.0f), std::log(3.0f), std::log(3.0f), std::log(1.0f)};
  const host::View rows{logits.data(), 2, 2, 2};
  const auto routing = host::Route(rows, {.used = 2, .normalise = true, .scale = 2.0f});
  EXPECT_EQ(routing.rows, 2);
  EXPECT_EQ(routing.experts, (std::vector<int32_t>{1, 0, 0, 1}));
  ASSERT_EQ(routing.weights.size(), 4u);
  for (const size_t first : {0u, 2u}) {
    EXPECT_NEAR(routing.weights[first], 1.5, 1e-6);
    EXPECT_NEAR(routing.weights[first + 1], 0.5, 1e-6);
  }
  host::Arena arena;
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8}, scales{10, 100, 1000, 10000};
  const host::View lines{values.data(), 4, 2, 2}, of_experts{scales.data(), 2, 2, 2};
  EXPECT_EQ(host::Read(host::ScaleExpertColumns(arena, lines, of_experts, routing)),
            (std::vector<float>{1000, 20000, 30, 400, 50, 600, 7000, 80000}));
  EXPECT_EQ(host::Read(host::AddExpertBias(arena, lines, of_experts, routing)),
            (std::vector<float>{1001, 10002, 13, 104, 15, 106, 1007, 10008}));
  const auto mixed = host::Read(host::Combine(arena, lines, routing));
  ASSERT_EQ(mixed.size(), 4u);
  const float wanted[] = {3, 5, 11, 13};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(mixed[i], wanted[i], 1e-4) << i;
}

// Within 40% of 5 are 4 and 3; without 5, of 4 there is 3, and 0.1 and -2 are not near.
TEST(MoeRouting, SparseMixerTakesAsWeightsTheSoftmaxOverWhatIsLeftAndNear) {
  const std::vector<float> logits{0.1f, 4.0f, 5.0f, 3.0f, -2.0f};
  const auto routing = host::Route(Row(logits), {.used = 2, .score = ExpertScore::kSparseMixer, .tolerance = 0.4f});
  EXPECT_EQ(routing.experts, (std::vector<int32_t>{2, 1}));
  EXPECT_NEAR(routing.weights[0], 1.0 / (1.0 + std::exp(-1.0) + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(routing.weights[1], 1.0 / (1.0 + std::exp(-1.0)), 1e-6);
}

// The tolerance is a part of the larger of the best logit and the other's absolute value: 1 of 10, where the best is
// -9.
TEST(MoeRouting, SparseMixerMeasuresNegativeLogitsByTheirOwnSize) {
  const std::vector<float> logits{-10.0f, -9.0f, -12.0f};
  const auto routing = host::Route(Row(logits), {.used = 2, .score = ExpertScore::kSparseMixer, .tolerance = 0.101f});
  EXPECT_EQ(routing.experts, (std::vector<int32_t>{1, 0}));
  EXPECT_NEAR(routing.weights[0], 1.0 / (1.0 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(routing.weights[1], 1.0f);
}

TEST(MoeRouting, OfEqualLogitsTheLowerIndexIsTaken) {
  const std::vector<float> logits{0.0f, 2.0f, 1.0f, 2.0f, 1.0f, 1.0f};
  EXPECT_EQ(host::Route(Row(logits), {.used = 4}).experts, (std::vector<int32_t>{1, 3, 2, 4}));
}

TEST(MoeRouting, BrokenLogitsStillNameDistinctExpertsInRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan}, {nan, 1.0f, inf}, {-inf, -inf, -inf}}) {
    auto experts = host::Route(Row(logits), {.used = 3}).experts;
    std::sort(experts.begin(), experts.end());
    EXPECT_EQ(experts, (std::vector<int32_t>{0, 1, 2}));
  }
}

TEST(MoeRouting, EqualsTheDenseMixture) {
  constexpr int64_t kRows = 9, kInputs = 16, kOutputs = 12, kExperts = 5, kUsed = 3;
  Reference::Context context;
  std::mt19937 random(7);
  std::vector<testing::OwnedMatrix> owned;
  std::vector<std::vector<HostMatrix>> parts;
  for (int64_t e = 0; e < kExperts; ++e) {
    owned.push_back(testing::RandomMatrix(formats::TensorType::kF32, random, kOutputs, kInputs));
  }
  for (const auto& expert : owned) parts.push_back({expert.matrix});
  const auto experts = Reference::LoadExperts(context, parts);
  ASSERT_TRUE(experts) << experts.error().message;
  const auto x = testing::RandomBuffer(context.arena, random, kRows, kInputs);
  const auto logits = testing::RandomBuffer(context.arena, random, kRows, kExperts);
  const auto biases = testing::RandomBuffer(context.arena, random, 1, kExperts * kOutputs);

  const auto routing = Reference::Route(context, logits, {.used = kUsed, .normalise = true});
  const auto lines =
      Reference::AddExpertBias(context, Reference::ExpertMatMul(context, x, *experts, routing), biases, routing);
  const auto mixed = Reference::Combine(context, lines, routing);

  auto dense = context.arena.Allocate(kRows, kOutputs);
  for (int64_t r = 0; r < kRows; ++r) {
    const float* row = host::View(logits).row(r);
    std::vector<float> sorted(row, row + kExperts);
    std::sort(sorted.rbegin(), sorted.rend());
    double total = 0.0;
    for (int64_t e = 0; e < kExperts; ++e) total += row[e] >= sorted[kUsed - 1] ? std::exp(row[e]) : 0.0;
    for (int64_t o = 0; o < kOutputs; ++o) {
      double sum = 0.0;
      for (int64_t e = 0; e < kExperts; ++e) {
        if (row[e] < sorted[kUsed - 1]) continue;
        const auto* weights = reinterpret_cast<const float*>(owned[e].bytes.data()) + o * kInputs;
        const double product = std::inner_product(weights, weights + kInputs, host::View(x).row(r), 0.0);
        sum += std::exp(row[e]) / total * (product + host::View(biases).data[e * kOutputs + o]);
      }
      dense.row(r)[o] = static_cast<float>(sum);
    }
  }
  EXPECT_LT(testing::RelativeError(mixed, dense), 1e-5);
}

TEST(MoeRouting, ASharedExpertIsTakenByTheSigmoidOfItsGate) {
  Reference::Context context;
  const std::vector<float> values{1.0f, -2.0f, 4.0f, 8.0f}, gates{0.0f, std::log(3.0f)};
  const auto out =
      Reference::Read(context, Reference::GateRows(context, {values.data(), 2, 2, 2}, {gates.data(), 2, 1, 1}));
  EXPECT_NEAR(out[0], 0.5, 1e-6);
  EXPECT_NEAR(out[1], -1.0, 1e-6);
  EXPECT_NEAR(out[2], 3.0, 1e-6);
  EXPECT_NEAR(out[3], 6.0, 1e-6);
}

}  // namespace
}  // namespace inferflux::compute
