// What may come next: counts and probabilities by hand, and through a scheduler.
#include "scheduler/output/next_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "scheduler/scheduler_driver.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::scheduler {
namespace {

using ::testing::HasSubstr;
using text::GrammarSpec;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class NextTokensTest : public ::testing::Test {
 protected:
  // The logits are the logarithms of these probabilities; all other tokens are impossible.
  std::vector<float> Logits(const std::vector<std::pair<TokenId, double>>& probabilities) const {
    std::vector<float> out(static_cast<size_t>(tokenizer_->size()), -kInfinity);
    for (const auto& [id, p] : probabilities) out[static_cast<size_t>(id)] = static_cast<float>(std::log(p)) + 7.0f;
    return out;
  }
  text::OutputMatcher Matcher(std::string_view expression) {
    auto grammar = compiler_.Compile({.kind = GrammarSpec::Kind::kRegex, .source = std::string(expression)});
    EXPECT_TRUE(grammar) << grammar.error().message;
    return {tokenizer_, *grammar, nullptr, false};
  }
  Result<NextTokens> Score(const std::vector<float>& logits, std::string_view expression, std::string_view output,
                           int32_t top = 3) {
    const text::OutputMatcher matcher = Matcher(expression);
    return ScoreNextTokens(logits, &matcher, Bytes(output), top, *tokenizer_);
  }

  std::shared_ptr<const text::Tokenizer> tokenizer_ = FakeTokenizer({"ab", "abc"});
  text::GrammarCompiler compiler_{tokenizer_};
};

TEST_F(NextTokensTest, CountsAndWeighsWhatTheConstraintAllows) {
  const auto next = Score(Logits({{'a', 0.1}, {'b', 0.5}, {'z', 0.3}, {257, 0.06}, {kEnd, 0.04}}), "(a|ab|b)?", "");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->vocabulary, tokenizer_->size());
  EXPECT_EQ(next->allowed, 4) << "a, b, ab and the end";
  EXPECT_TRUE(next->may_end);
  EXPECT_NEAR(next->allowed_probability, 0.7, 1e-5);
  ASSERT_EQ(next->top.size(), 3u);
  EXPECT_EQ(next->top[0].id, 'b');
  EXPECT_NEAR(std::exp(next->top[0].logprob), 0.5, 1e-5);
  EXPECT_EQ(next->top[1].id, 'a');
  EXPECT_EQ(next->top[2].id, 257);
  EXPECT_EQ(next->top[2].bytes, "ab");
  ASSERT_EQ(next->unconstrained.size(), 3u);
  EXPECT_EQ(next->unconstrained[1].id, 'z') << "what the model would say by itself";
}

TEST_F(NextTokensTest, TheConstraintIsAtTheEndOfTheOutput) {
  const auto logits = Logits({{'a', 0.5}, {'b', 0.25}, {'c', 0.25}});
  const auto next = Score(logits, "ab|acc", "a");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->allowed, 2);
  EXPECT_FALSE(next->may_end);
  const auto whole = Score(logits, "ab|acc", "ab");
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->may_end);
  EXPECT_EQ(whole->allowed, 1) << "the end";
  EXPECT_TRUE(whole->top.empty()) << "the model gives it no probability at all";
  EXPECT_EQ(whole->allowed_probability, 0);
}

TEST_F(NextTokensTest, AnOutputThatDoesNotFitIsRefusedWithThePlace) {
  const auto next = Score(Logits({{'a', 1}}), "abc", "abx");
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(next.error().message, HasSubstr("after 2 bytes that do ('ab'), 'x' cannot follow"));
}

TEST_F(NextTokensTest, OfALongOutputTheLast80BytesAreQuoted) {
  for (const size_t length : {79u, 80u, 81u, 200u}) {
    const auto next = Score(Logits({{'a', 1}}), "b(a){1,300}", "b" + std::string(length - 1, 'a') + "x");
    ASSERT_FALSE(next);
    const std::string quoted =
        (length > 80 ? "" : "b") + std::string(std::min<size_t>(length - 1, length > 80 ? 80 : 79), 'a');
    EXPECT_THAT(next.error().message,
                HasSubstr(fmt::format("after {} bytes that do ('{}'), 'x' cannot", length, quoted)));
  }
}

TEST_F(NextTokensTest, ImprobableTokensKeepTheirShares) {
  std::vector<float> logits(static_cast<size_t>(tokenizer_->size()), -kInfinity);
  logits['z'] = 200;
  logits['a'] = 1;
  logits['b'] = 1;
  const auto next = Score(logits, "a|b", "");
  ASSERT_TRUE(next);
  EXPECT_NEAR(std::log(next->allowed_probability), 1 - 200 + std::log(2.0), 1e-3);
  EXPECT_NEAR(std::exp(double{next->top[0].logprob} - std::log(next->allowed_probability)), 0.5, 1e-3);
}

TEST_F(NextTokensTest, LogitsThatAreNotNumbersAreAnError) {
  const std::vector<float> broken(300, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(Score(broken, "a", "").error().code, ErrorCode::kInternal);
}

TEST_F(NextTokensTest, ARequestTakesItsPromptAndGeneratesNothing) {
  SchedulerDriver driver(Says(Bytes("never")), {.step_tokens = 4}, {}, tokenizer_);
  const auto logits = Logits({{'b', 0.75}, {'c', 0.25}});
  driver.engine.on_result = [&](engine::StepResult& result) {
    for (auto& item : result.items) {
      for (auto& output : item) output.logits = logits;
    }
  };
  auto grammar = compiler_.Compile({.kind = GrammarSpec::Kind::kRegex, .source = "ab*"});
  ASSERT_TRUE(grammar);
  const auto received = driver.Generate({.prompt = Bytes("a long questiona"),
                                         .grammar = *grammar,
                                         .next_tokens = NextTokensQuery{.output_tokens = 1, .top = 2}});
  ASSERT_TRUE(received.done());
  EXPECT_EQ(received.finish->reason, FinishReason::kStop) << received.finish->error.message;
  EXPECT_EQ(received.finish->usage.completion_tokens, 0);
  EXPECT_EQ(received.text, "");
  const auto& next = received.events.back().next_tokens;
  ASSERT_TRUE(next);
  EXPECT_EQ(next->allowed, 2);
  EXPECT_NEAR(next->allowed_probability, 0.75, 1e-5);
  EXPECT_EQ(driver.engine.usage().blocks_used, 0) << "its KV is given back";
}

}  // namespace
}  // namespace inferflux::scheduler
