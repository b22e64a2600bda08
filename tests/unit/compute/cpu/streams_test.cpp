// Streams side by side in rows, and activations that are cut by their row's distribution, compared with the reference.
#include <cmath>
#include <numeric>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

class CpuStreamsTest : public CpuTest {};

TEST_P(CpuStreamsTest, AreMixedByFactorsOfTheRowOrOfAll) {
  for (const int64_t width : {1, 7, 64}) {
    const auto x = Random(9, 3 * width);
    const auto of_rows = Random(9, 2 * 3), of_all = Random(1, 2 * 3);
    for (const auto* factors : {&of_rows, &of_all}) {
      const auto mixed = Cpu::MixStreams(cpu, x, *factors, 3);
      ASSERT_EQ(mixed.cols(), 2 * width);
      EXPECT_LT(RelativeError(mixed, Reference::MixStreams(reference, x, *factors, 3)), 1e-6);
    }
  }
}

// [1, 2] and [3, 4]: once the first plus twice the second, and minus the first.
TEST_P(CpuStreamsTest, TheReferenceMixesInTheOrderOfTheFactors) {
  const std::vector<float> values{1, 2, 3, 4}, factors{1, 2, -1, 0}, wanted{7, 10, -1, -2};
  const auto mixed = Reference::MixStreams(reference, {values.data(), 1, 4, 4}, {factors.data(), 1, 4, 4}, 2);
  for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(host::View(mixed).data[c], wanted[static_cast<size_t>(c)]);
}

TEST_P(CpuStreamsTest, TakeTheMagnitudeOfAnother) {
  for (const int64_t width : {1, 15, 200}) {
    host::Buffer x = Random(9, 4 * width);
    const auto like = Random(9, width);
    std::fill_n(x.row(3), width, 0.0f);   // no direction
    std::fill_n(x.row(4), width, 1e-4f);  // less than the least magnitude
    const auto matched = Cpu::MatchMagnitudes(cpu, x, like);
    EXPECT_LT(RelativeError(matched, Reference::MatchMagnitudes(reference, x, like)), 1e-6);
    EXPECT_EQ(host::View(matched).row(3)[0], 0.0f);
    double wanted = 0.0, own = 0.0;
    for (int64_t c = 0; c < width; ++c) {
      wanted += std::pow(host::View(like).row(0)[c], 2);
      own += std::pow(host::View(matched).row(0)[2 * width + c], 2);
    }
    EXPECT_NEAR(own, wanted, 1e-4 * wanted);
  }
}

TEST_P(CpuStreamsTest, RowsKeepWhatIsFarAboveTheirMean) {
  for (const int64_t width : {1, 31, 2048}) {
    const auto x = Random(9, width);
    for (const float deviations : {-0.5f, 0.0f, 1.6448536f}) {
      EXPECT_LT(RelativeError(Cpu::CutRows(cpu, x, deviations), Reference::CutRows(reference, x, deviations)), 2e-6)
          << width << ", " << deviations;
    }
  }
  // Mean 3, deviation 2: 9 is 6 above the mean.
  const std::vector<float> values{2, 2, 2, 2, 2, 2, 2, 2, 2, 12};
  const auto cut = Reference::CutRows(reference, {values.data(), 1, 10, 10}, 1.0f);
  EXPECT_NEAR(host::View(cut).data[9], 12.0f - (3.0f + 3.0f), 1e-6f);
  EXPECT_EQ(host::View(cut).data[0], 0.0f);
}

INFERFLUX_CPU_TESTS(CpuStreamsTest);

}  // namespace
}  // namespace inferflux::compute::testing
