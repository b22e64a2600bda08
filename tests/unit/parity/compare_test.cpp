// The numbers of the comparisons, and what is said of them.
#include "parity/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "parity/toy_engine.h"

namespace inferflux::parity {
namespace {

TEST(Compare, TheErrorIsRelativeToTheWholeRow) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto error = [](std::vector<float> a, std::vector<float> b) { return RelativeError(a, b); };
  EXPECT_DOUBLE_EQ(error({3, 4}, {3, 4}), 0);
  EXPECT_DOUBLE_EQ(error({3, 4}, {0, 5}), std::sqrt(10.0 / 25));
  EXPECT_DOUBLE_EQ(error({0, 0}, {3, 4}), 1);
  EXPECT_DOUBLE_EQ(error({-3, 4, 1}, {3, -4, 0}), std::sqrt(101.0 / 25));
  EXPECT_EQ(error({3, 4}, {3, 4, 0}), kInfinity);
  EXPECT_EQ(error({3, 4, 0}, {3, 4}), kInfinity);
  EXPECT_EQ(error({std::nanf(""), 4}, {3, 4}), kInfinity);
}

TEST(Compare, LogSoftmaxIsTheLogOfEachProbability) {
  const std::vector<float> logits{1.0f, 3.0f, 0.0f, 3.0f};
  const double sum = std::exp(1.0) + 2 * std::exp(3.0) + 1;
  const auto logs = LogSoftmax(logits);
  ASSERT_EQ(logs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(logs[i], std::log(std::exp(double{logits[i]}) / sum), 1e-12) << i;
}

TEST(Compare, LogitsSayTheWorstPositionOrTheFirstThatIsTooFar) {
  const Oracle oracle{.logits = {{8, 0}, {0, 8}, {8, 0}, {0, 8}}};
  EXPECT_EQ(Said(CompareLogits({{0, 8}, {9, 0}, {0, 8.5}}, oracle, 1, 0.125)), "3 positions, at most 1.2e-01 off");
  EXPECT_EQ(Said(CompareLogits({{0, 8}, {9, 0}, {0, 16}}, oracle, 1, 0.1)),
            "error: at position 2 the logits are 1.25e-01 off, and 1e-01 is allowed");
  EXPECT_EQ(Said(CompareLogits({{0, 8}, {9, 0}}, oracle, 3, 1)), "error: 2 rows of logits from position 3, of 4");
  EXPECT_EQ(Said(CompareLogits({}, oracle, 0, 1)), "error: 0 rows of logits from position 0, of 4");
}

TEST(Compare, GreedyTextsAreComparedUpToTheFirstOtherToken) {
  const Answer expected{.prompt = {}, .tokens = {1, 2, 3, 4}, .gaps = {1.0f, 0.5f, 0.25f, 2.0f}};
  const auto said = [&](std::vector<TokenId> actual) {
    GreedyComparison comparison(0.5);
    comparison.Add(expected, actual);
    return Said(comparison.finding());
  };
  EXPECT_EQ(said({1, 2, 3, 4}), "4 positions, 0 near ties");
  EXPECT_EQ(said({1, 2, 3, 4, 9}), "4 positions, 0 near ties") << "what follows is not compared";
  EXPECT_EQ(said({1, 9, 3, 4}), "error: after 1 tokens of an answer comes 9, not 2, which is ahead by 0.500 in logits");
  EXPECT_EQ(said({1, 2}), "error: after 2 tokens of an answer comes nothing, not 3, which is ahead by 0.250 in logits");
  EXPECT_EQ(said({1, 2, 9, 9}), "error: 1 near ties in 3 positions: more than 2%");
}

TEST(Compare, TwoNearTiesInAHundredPositionsAreFewEnough) {
  const Answer expected{.prompt = {}, .tokens = std::vector<TokenId>(50, 5), .gaps = std::vector<float>(50, 0.1f)};
  std::vector<TokenId> last = expected.tokens, before = expected.tokens;
  last[49] = 6;
  before[48] = 6;
  GreedyComparison few(0.5), many(0.5), other(0.05);
  few.Add(expected, last);
  few.Add(expected, last);
  EXPECT_EQ(Said(few.finding()), "100 positions, 2 near ties");
  many.Add(expected, last);
  many.Add(expected, before);
  EXPECT_EQ(Said(many.finding()), "error: 2 near ties in 99 positions: more than 2%");
  other.Add(expected, last);
  other.Add(expected, before);
  EXPECT_EQ(Said(other.finding()),
            "error: after 49 tokens of an answer comes 6, not 5, which is ahead by 0.100 in logits")
      << "the first is reported";
}

TEST(Compare, TheBoundsDependOnTheWeights) {
  const auto of = [](const std::string& weights) {
    const Bounds bounds = BoundsFor(weights);
    return std::vector{bounds.logits, bounds.logprob, bounds.tie};
  };
  const std::vector floats{3e-2, 0.25, 0.1}, others{0.15, 0.5, 0.5};
  for (const char* weights : {"F32", "F16", "BF16"}) EXPECT_EQ(of(weights), floats) << weights;
  for (const char* weights : {"Q8_0", "Q4_K", "F8_E4M3", ""}) EXPECT_EQ(of(weights), others) << weights;
}

TEST(Compare, OnlyARowThatDiffersFails) {
  const ParityRow same{.outcome = Outcome::kSame}, refused{.outcome = Outcome::kRefused},
      different{.outcome = Outcome::kDifferent};
  EXPECT_TRUE(Passed({}));
  EXPECT_TRUE(Passed(std::vector{same, refused}));
  EXPECT_FALSE(Passed(std::vector{same, different, same}));
}

}  // namespace
}  // namespace inferflux::parity
