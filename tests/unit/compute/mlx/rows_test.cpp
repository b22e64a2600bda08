// MLX's operations on rows, compared with the reference.
#include <limits>

#include "compute/mlx/mlx_test.h"

namespace inferflux::compute::testing {
namespace {

class MlxRowsTest : public MlxTest {};

TEST_F(MlxRowsTest, AddScaleBiasColumnsAndGather) {
  const auto a = Random(7, 48), b = Random(7, 48), bias = Random(1, 48);
  EXPECT_EQ(Error(Mlx::Add(context, On(a), On(b)), Reference::Add(reference, a, b)), 0.0);
  EXPECT_EQ(Error(Mlx::AddBias(context, On(a), On(bias)), Reference::AddBias(reference, a, bias)), 0.0);
  EXPECT_EQ(Error(Mlx::Scale(context, On(a), 0.37f), Reference::Scale(reference, a, 0.37f)), 0.0);
  EXPECT_EQ(Error(Mlx::Columns(On(a), 16, 20), Reference::Columns(a, 16, 20)), 0.0);
  const std::vector<int32_t> rows{5, 0, 5};
  EXPECT_EQ(Error(Mlx::GatherRows(context, On(a), rows), Reference::GatherRows(reference, a, rows)), 0.0);
  EXPECT_TRUE(Mlx::Read(context, Mlx::GatherRows(context, On(a), {})).empty());
}

TEST_F(MlxRowsTest, Norms) {
  const auto x = Random(9, 192), whole = Random(1, 192), head = Random(1, 48);
  for (const auto* weight : {&whole, &head}) {
    EXPECT_LT(Error(Mlx::RmsNorm(context, On(x), On(*weight), 1e-5f), Reference::RmsNorm(reference, x, *weight, 1e-5f)),
              1e-6);
  }
  const auto bias = Random(1, 192);
  EXPECT_LT(Error(Mlx::LayerNorm(context, On(x), On(whole), On(bias), 1e-3f),
                  Reference::LayerNorm(reference, x, whole, bias, 1e-3f)),
            2e-6);
}

TEST_F(MlxRowsTest, ActivationsGatesAndSoftCap) {
  const auto x = Random(9, 64), up = Random(9, 64);
  for (const Activation kind : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                Activation::kReluSquared, Activation::kSigmoid, Activation::kExpExcess}) {
    EXPECT_LT(Error(Mlx::Activate(context, On(x), kind), Reference::Activate(reference, x, kind)), 2e-6);
    EXPECT_LT(Error(Mlx::Gate(context, On(x), On(up), kind), Reference::Gate(reference, x, up, kind)), 2e-6);
  }
  const auto wide = Reference::Scale(reference, x, 9.0f), wide_up = Reference::Scale(reference, up, 9.0f);
  EXPECT_LT(Error(Mlx::Gate(context, On(wide), On(wide_up), Activation::kClampedSwiglu),
                  Reference::Gate(reference, wide, wide_up, Activation::kClampedSwiglu)),
            2e-6);
  EXPECT_LT(Error(Mlx::SoftCap(context, On(x), 1.7f), Reference::SoftCap(reference, x, 1.7f)), 1e-6);
}

TEST_F(MlxRowsTest, StreamsAndCuts) {
  const auto x = Random(9, 3 * 40), like = Random(9, 40), of_rows = Random(9, 2 * 3), of_all = Random(1, 2 * 3);
  for (const auto* factors : {&of_rows, &of_all}) {
    EXPECT_LT(Error(Mlx::MixStreams(context, On(x), On(*factors), 3), Reference::MixStreams(reference, x, *factors, 3)),
              1e-6);
  }
  EXPECT_LT(Error(Mlx::MatchMagnitudes(context, On(x), On(like)), Reference::MatchMagnitudes(reference, x, like)),
            1e-6);
  const auto tiny = Reference::Scale(reference, x, 1e-4f);  // less than the least magnitude
  EXPECT_LT(Error(Mlx::MatchMagnitudes(context, On(tiny), On(like)), Reference::MatchMagnitudes(reference, tiny, like)),
            1e-6);
  for (const float deviations : {-0.5f, 1.6448536f}) {
    EXPECT_LT(Error(Mlx::CutRows(context, On(x), deviations), Reference::CutRows(reference, x, deviations)), 2e-6);
  }
}

TEST_F(MlxRowsTest, RopeInBothStylesAndOfPartOfAHead) {
  StepGeometry step{.tokens = std::vector<TokenId>(11), .query_starts = {}};
  for (int r = 0; r < 11; ++r) step.positions.push_back(r * 9973);  // distant positions too
  const Mlx::Batch batch = Mlx::LoadBatch(context, step);
  for (const int32_t rotated : {32, 16}) {
    RopeSpec spec{.inverse_frequencies = {}, .magnitude = 1.1f};
    for (int i = 0; i < rotated / 2; ++i) spec.inverse_frequencies.push_back(std::pow(1e4f, -2.0f * i / rotated));
    const auto angles = Reference::RopeAngles(reference, step, spec);
    const auto ours = Mlx::RopeAngles(context, batch, spec);
    EXPECT_EQ(Error(ours, angles), 0.0);
    const auto x = Random(11, 3 * 32);
    for (const RopeStyle style : {RopeStyle::kHalves, RopeStyle::kInterleaved}) {
      const RopeParams params{3, 32, style};
      EXPECT_LT(Error(Mlx::Rope(context, On(x), ours, params), Reference::Rope(reference, x, angles, params)), 1e-6)
          << rotated;
    }
  }
}

TEST_F(MlxRowsTest, RoutesAsTheReferenceAlsoWhereLogitsAreEqual) {
  auto logits = Random(17, 6);
  for (int64_t r = 0; r < 6; ++r) std::fill_n(logits.row(r), 6, r % 2 == 0 ? 1.0f : -2.0f);
  logits.row(0)[4] = 3.0f;
  for (const bool normalise : {false, true}) {
    const RoutingParams params{.used = 3, .normalise = normalise};
    const auto expected = Reference::Route(reference, logits, params);
    const Mlx::Routing actual = Mlx::Route(context, On(logits), params);
    const Mlx::View experts{mlx::core::astype(actual.experts, mlx::core::float32)};
    const std::vector<float> chosen = Mlx::Read(context, experts);
    EXPECT_EQ(std::vector<int32_t>(chosen.begin(), chosen.end()), expected.experts);
    EXPECT_LT(Error({actual.weights}, {expected.weights.data(), 17, 3, 3}), 1e-6);
  }
}

TEST_F(MlxRowsTest, MixesSparselyAsTheReference) {
  const auto logits = Reference::Scale(reference, Random(17, 12), 3.0f);
  for (const float tolerance : {0.0f, 0.3f, 2.0f}) {
    const RoutingParams params{.used = 3, .score = ExpertScore::kSparseMixer, .scale = 1.5f, .tolerance = tolerance};
    const auto expected = Reference::Route(reference, logits, params);
    const Mlx::Routing actual = Mlx::Route(context, On(logits), params);
    const auto chosen = Mlx::Read(context, {mlx::core::astype(actual.experts, mlx::core::float32)});
    EXPECT_EQ(std::vector<int32_t>(chosen.begin(), chosen.end()), expected.experts);
    EXPECT_LT(Error({actual.weights}, {expected.weights.data(), 17, 3, 3}), 1e-6);
  }
}

TEST_F(MlxRowsTest, RoutesWithBiasesAndGroupsAsTheReference) {
  const auto logits = Random(17, 12), biases = Random(1, 12);
  for (const ExpertScore score : {ExpertScore::kSoftmax, ExpertScore::kSigmoid}) {
    for (const int32_t groups : {1, 4}) {
      const RoutingParams params{.used = 3,
                                 .normalise = true,
                                 .score = score,
                                 .scale = 2.5f,
                                 .groups = groups,
                                 .used_groups = groups == 1 ? 1 : 2};
      const host::View host_biases = biases;
      const Mlx::View on_device = On(biases);
      const auto expected = Reference::Route(reference, logits, params, &host_biases);
      const Mlx::Routing actual = Mlx::Route(context, On(logits), params, &on_device);
      const auto chosen = Mlx::Read(context, {mlx::core::astype(actual.experts, mlx::core::float32)});
      EXPECT_EQ(std::vector<int32_t>(chosen.begin(), chosen.end()), expected.experts);
      EXPECT_LT(Error({actual.weights}, {expected.weights.data(), 17, 3, 3}), 1e-5);
    }
  }
}

TEST_F(MlxRowsTest, BrokenLogitsStillNameDistinctExpertsInRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan}, {nan, 1.0f, inf}, {-inf, -inf, -inf}}) {
    const Mlx::Routing routing = Mlx::Route(context, On({logits.data(), 1, 3, 3}), {.used = 3});
    auto chosen = Mlx::Read(context, {mlx::core::astype(routing.experts, mlx::core::float32)});
    std::sort(chosen.begin(), chosen.end());
    EXPECT_EQ(chosen, (std::vector<float>{0, 1, 2}));
  }
}

}  // namespace
}  // namespace inferflux::compute::testing
