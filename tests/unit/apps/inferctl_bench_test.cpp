// The definitions of a benchmark's numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "apps/inferctl/bench/load_report.h"

namespace inferflux::apps {
namespace {

TEST(LoadReport, PercentilesAreTheNearestRank) {
  std::vector<double> values(100);
  std::iota(values.begin(), values.end(), 1.0);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(PercentilesOf(values).p50, 50.0);
  EXPECT_EQ(PercentilesOf(values).p90, 90.0);
  EXPECT_EQ(PercentilesOf(values).p99, 99.0);
  EXPECT_EQ(PercentilesOf({3.0}).p99, 3.0);
  EXPECT_EQ(PercentilesOf({}).p50, 0.0);
}

TEST(LoadReport, CountsOnlyWhatSucceeded) {
  RequestRecord good{
      .first_token = 0.2, .gaps = {0.01, 0.03}, .prompt_tokens = 10, .cached_tokens = 5, .output_tokens = 3};
  RequestRecord bad = good;
  bad.failure = "the answer has no text";
  const std::vector<LoadResult> rounds{{.seconds = 1.0, .records = {good, bad}}, {.seconds = 1.0, .records = {good}}};
  const LoadReport report = Summarise("http://x", rounds);
  EXPECT_EQ(report.succeeded, 2);
  EXPECT_EQ(report.failures, std::vector<std::string>{"the answer has no text"});
  EXPECT_EQ(report.output_per_second(), 3.0);
  EXPECT_EQ(report.cached_share(), 0.5);
  EXPECT_EQ(report.first_token.p50, 0.2);
  EXPECT_EQ(report.between.p99, 0.03);
  EXPECT_NE(ToTable(std::span(&report, 1)).find("1 x the answer has no text"), std::string::npos);
}

TEST(PromptSource, SharesWhatWasAskedForAndNothingElse) {
  const LoadShape shape{.prompt_tokens = 40, .shared_prefix = 0.5, .vocab = 50000, .seed = 1};
  PromptSource source(shape, 0), again(shape, 0), later(shape, 1);
  const auto first = source.Next(), second = source.Next();
  EXPECT_EQ(first.size(), 40u);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 20, second.begin()));
  EXPECT_FALSE(std::equal(first.begin() + 20, first.end(), second.begin() + 20));
  EXPECT_EQ(first, again.Next()) << "a seed gives the same prompts";
  EXPECT_NE(first[0], later.Next()[0]) << "rounds share nothing";
  for (const int32_t id : first) EXPECT_TRUE(id >= 1 && id < 50000);
}

TEST(PromptSource, ArrivalsKeepTheirRate) {
  const LoadShape shape{.rate = 20.0, .seed = 2};
  PromptSource source(shape, 0);
  double seconds = 0.0;
  for (int i = 0; i < 4000; ++i) seconds += source.NextGap();
  EXPECT_NEAR(4000 / seconds, 20.0, 1.5);
}

}  // namespace
}  // namespace inferflux::apps
