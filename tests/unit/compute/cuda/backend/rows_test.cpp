// The CUDA backend's operations on rows, compared with the reference.
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

class CudaRows : public CudaTest {};

TEST_F(CudaRows, AddScaleBiasColumnsAndGather) {
  auto a = Random(7, 48);
  const auto b = Random(7, 48), bias = Random(1, 48);
  EXPECT_EQ(Error(Cuda::Add(context, On(a), On(b)), Reference::Add(reference, a, b)), 0.0);
  EXPECT_EQ(Error(Cuda::AddBias(context, On(a), On(bias)), Reference::AddBias(reference, a, bias)), 0.0);
  EXPECT_EQ(Error(Cuda::ScaleColumns(context, On(a), On(bias)), Reference::ScaleColumns(reference, a, bias)), 0.0);
  EXPECT_EQ(Error(Cuda::Scale(context, On(a), 0.37f), Reference::Scale(reference, a, 0.37f)), 0.0);
  const Cuda::Buffer on = On(a);
  const Cuda::View columns = Cuda::Columns(on, 16, 20);
  EXPECT_EQ(Error(columns, Reference::Columns(a, 16, 20)), 0.0);
  const auto part = Reference::Columns(a, 16, 20);
  EXPECT_EQ(Error(Cuda::Add(context, columns, columns), Reference::Add(reference, part, part)), 0.0);
  const std::vector<int32_t> rows{5, 0, 5};
  EXPECT_EQ(Error(Cuda::GatherRows(context, on, rows), Reference::GatherRows(reference, a, rows)), 0.0);
  const auto gathered = Cuda::Read(context, Cuda::GatherColumns(context, on, rows));
  for (size_t i = 0; i < gathered.size(); ++i) {
    EXPECT_EQ(gathered[i], a.row(static_cast<int64_t>(i / 3))[rows[i % 3]]);
  }
}

// A step may ask for no row's logits.
TEST_F(CudaRows, NoRowsGiveNoRows) {
  const Cuda::Buffer on = On(Random(2, 16)), weight = On(Random(1, 16));
  const Cuda::Buffer none = Cuda::GatherRows(context, on, {});
  EXPECT_EQ(none.rows, 0);
  EXPECT_TRUE(Cuda::Read(context, none).empty());
  EXPECT_EQ(Cuda::RmsNorm(context, none, weight, 1e-5f).rows, 0);
  EXPECT_EQ(Cuda::Add(context, none, none).cols, 16);
}

TEST_F(CudaRows, ASumWithItsNormEqualsTheReference) {
  for (const int64_t columns : {int64_t{192}, int64_t{33}}) {
    const auto a = Random(5, columns), b = Random(5, columns), weight = Random(1, columns);
    const auto made = Cuda::AddRmsNorm(context, On(a), On(b), On(weight), 1e-5f);
    const auto sum = Reference::Add(reference, a, b);
    EXPECT_EQ(Error(made.sum, sum), 0.0);
    EXPECT_LT(Error(made.normed, Reference::RmsNorm(reference, sum, weight, 1e-5f)), 1e-6);
  }
  const Cuda::Buffer none = Cuda::GatherRows(context, On(Random(2, 16)), {});
  EXPECT_EQ(Cuda::AddRmsNorm(context, none, none, On(Random(1, 16)), 1e-5f).normed.rows, 0);
}

TEST_F(CudaRows, Norms) {
  const auto x = Random(9, 192), whole = Random(1, 192), head = Random(1, 48), bias = Random(1, 192);
  for (const auto* weight : {&whole, &head}) {
    EXPECT_LT(
        Error(Cuda::RmsNorm(context, On(x), On(*weight), 1e-5f), Reference::RmsNorm(reference, x, *weight, 1e-5f)),
        1e-6);
  }
  EXPECT_LT(Error(Cuda::LayerNorm(context, On(x), On(whole), On(bias), 1e-3f),
                  Reference::LayerNorm(reference, x, whole, bias, 1e-3f)),
            2e-6);
}

TEST_F(CudaRows, ActivationsGatesAndSoftCap) {
  const auto x = Random(9, 64), up = Random(9, 64);
  for (const Activation kind : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                Activation::kReluSquared, Activation::kSigmoid, Activation::kExpExcess}) {
    EXPECT_LT(Error(Cuda::Activate(context, On(x), kind), Reference::Activate(reference, x, kind)), 2e-6);
    EXPECT_LT(Error(Cuda::Gate(context, On(x), On(up), kind), Reference::Gate(reference, x, up, kind)), 2e-6);
  }
  const auto wide = Reference::Scale(reference, x, 9.0f), wide_up = Reference::Scale(reference, up, 9.0f);
  EXPECT_LT(Error(Cuda::Gate(context, On(wide), On(wide_up), Activation::kClampedSwiglu),
                  Reference::Gate(reference, wide, wide_up, Activation::kClampedSwiglu)),
            2e-6);
  EXPECT_LT(Error(Cuda::SoftCap(context, On(x), 1.7f), Reference::SoftCap(reference, x, 1.7f)), 1e-6);
}

TEST_F(CudaRows, StreamsAndCuts) {
  const auto x = Random(9, 3 * 40), like = Random(9, 40), of_rows = Random(9, 2 * 3), of_all = Random(1, 2 * 3);
  for (const auto* factors : {&of_rows, &of_all}) {
    EXPECT_LT(
        Error(Cuda::MixStreams(context, On(x), On(*factors), 3), Reference::MixStreams(reference, x, *factors, 3)),
        1e-6);
  }
  EXPECT_LT(Error(Cuda::MatchMagnitudes(context, On(x), On(like)), Reference::MatchMagnitudes(reference, x, like)),
            1e-6);
  const auto tiny = Reference::Scale(reference, x, 1e-4f);  // less than the least magnitude
  EXPECT_LT(
      Error(Cuda::MatchMagnitudes(context, On(tiny), On(like)), Reference::MatchMagnitudes(reference, tiny, like)),
      1e-6);
  for (const float deviations : {-0.5f, 1.6448536f}) {
    EXPECT_LT(Error(Cuda::CutRows(context, On(x), deviations), Reference::CutRows(reference, x, deviations)), 2e-6);
  }
}

TEST_F(CudaRows, RopeInBothStylesAndOfPartOfAHead) {
  StepGeometry step{.tokens = std::vector<TokenId>(11), .query_starts = {0, 11}};
  for (int r = 0; r < 11; ++r) step.positions.push_back(r * 9973);  // distant positions too
  const Cuda::Batch batch = Cuda::LoadBatch(context, step);
  for (const int32_t rotated : {32, 16}) {
    RopeSpec spec{.inverse_frequencies = {}, .magnitude = 1.1f};
    for (int i = 0; i < rotated / 2; ++i) spec.inverse_frequencies.push_back(std::pow(1e4f, -2.0f * i / rotated));
    const auto angles = Reference::RopeAngles(reference, step, spec);
    const auto ours = Cuda::RopeAngles(context, batch, spec);
    EXPECT_LT(Error(ours, angles), 1e-6);
    const auto x = Random(11, 3 * 32);
    for (const RopeStyle style : {RopeStyle::kHalves, RopeStyle::kInterleaved}) {
      const RopeParams params{3, 32, style};
      EXPECT_LT(Error(Cuda::Rope(context, On(x), ours, params), Reference::Rope(reference, x, angles, params)), 1e-6)
          << rotated;
    }
  }
}

TEST_F(CudaRows, TimeBetweenMarks) {
  const Cuda::TimeMark began = Cuda::MarkTime(context);
  const auto x = On(Random(4, 16));
  const auto y = Cuda::Add(context, x, x);
  EXPECT_GT(Cuda::SecondsBetween(began, Cuda::MarkTime(context)), 0.0);
}

}  // namespace
}  // namespace inferflux::compute::testing
