// The position of a generation in its reasoning, its budget and its grammar, token by token.
#include "text/reasoning/output_matcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/grammar_compiler.h"
#include "text/tokenizer/vocab_builders.h"

namespace inferflux::text {
namespace {

// Ids 0 to 255 are the bytes.
constexpr TokenId kLine = 10, kOpens = 256, kCloses = 257, kEnd = 258;

class OutputMatcherTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const Tokenizer> MakeTokenizer() {
    VocabSpec spec = testing::ByteLevelSpec({});
    for (const char* text : {"<think>", "</think>", "<|end|>"}) testing::AddToken(spec, text, TokenKind::kControl);
    spec.end_of_generation = {kEnd};
    return *Tokenizer::Create(std::move(spec), {});
  }

  ReasoningLimits Limits(std::optional<int32_t> budget, bool inside, std::vector<TokenId> opening = {kOpens}) {
    auto dialect = std::make_shared<ReasoningDialect>();
    dialect->reasoning.form = ReasoningForms().data();
    dialect->opening = std::move(opening);
    dialect->closing = {kLine, kCloses};
    return {.dialect = std::move(dialect), .inside = inside, .budget = budget};
  }
  OutputMatcher Matcher(const char* regex, const ReasoningLimits* limits) {
    if (regex == nullptr) return OutputMatcher(tokenizer_, nullptr, limits, true);
    const auto grammar = compiler_.Compile({.kind = GrammarSpec::Kind::kRegex, .source = regex});
    EXPECT_TRUE(grammar);
    return OutputMatcher(tokenizer_, *grammar, limits, true);
  }
  // What may follow: "any", "end" or up to three tokens, or how many tokens.
  static std::string May(OutputMatcher& matcher) {
    const auto mask = matcher.Mask();
    if (!mask) return mask.error().message;
    if (*mask == nullptr) return "any";
    std::string few;
    size_t count = 0;
    for (TokenId id = 0; id < (*mask)->size(); ++id) {
      if (!(*mask)->Allows(id)) continue;
      ++count;
      few += (few.empty() ? "" : " ") + (id == kEnd ? "end" : std::to_string(id));
    }
    return count <= 3 ? few : std::to_string(count) + ((*mask)->Allows(kEnd) ? " and end" : "");
  }
  void Say(OutputMatcher& matcher, std::string_view text) {
    for (const char c : text) {
      const auto token = tokenizer_->Encode(std::string(1, c)).at(0);
      EXPECT_TRUE(matcher.Accept(token)) << text;
    }
  }

  std::shared_ptr<const Tokenizer> tokenizer_ = MakeTokenizer();
  GrammarCompiler compiler_{tokenizer_};
};

TEST_F(OutputMatcherTest, ABudgetForcesTheClosingAfterItsLastToken) {
  const ReasoningLimits limits = Limits(2, false);
  OutputMatcher matcher = Matcher(nullptr, &limits);
  EXPECT_EQ(May(matcher), "any");
  ASSERT_TRUE(matcher.Accept(kOpens));
  EXPECT_EQ(May(matcher), "any");
  Say(matcher, "a");
  EXPECT_EQ(May(matcher), "any");
  Say(matcher, "b");
  EXPECT_EQ(May(matcher), std::to_string(kLine));
  const auto refused = matcher.Accept(kCloses);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the reasoning's marker does not allow token 257 here");
  ASSERT_TRUE(matcher.Accept(kLine));
  EXPECT_EQ(May(matcher), "257");
  EXPECT_FALSE(matcher.Accept(kLine));
  ASSERT_TRUE(matcher.Accept(kCloses));
  EXPECT_EQ(May(matcher), "any");
  Say(matcher, "abcdef");
  EXPECT_EQ(May(matcher), "any");
  EXPECT_FALSE(matcher.must_end());
}

TEST_F(OutputMatcherTest, ReasoningThatThePromptOpenedIsCountedAtOnce) {
  const auto after = [&](int32_t budget, std::string_view text) {
    const ReasoningLimits limits = Limits(budget, true);
    OutputMatcher matcher = Matcher(nullptr, &limits);
    Say(matcher, text);
    return May(matcher);
  };
  const std::string closing = std::to_string(kLine);
  EXPECT_EQ(after(-1, ""), closing);
  EXPECT_EQ(after(0, ""), closing);
  EXPECT_EQ(after(1, ""), "any");
  EXPECT_EQ(after(1, "a"), closing);
  EXPECT_EQ(after(3, "ab"), "any");
  EXPECT_EQ(after(8, "</think>"), "any") << "it has ended by itself";
  EXPECT_EQ(after(8, "</thinx>"), closing);
  EXPECT_EQ(after(9, "</think>abcdef"), "any");
}

TEST_F(OutputMatcherTest, AMarkerMayBeSpelledInBytes) {
  const auto after = [&](std::string_view text) {
    const ReasoningLimits limits = Limits(2, false);
    OutputMatcher matcher = Matcher(nullptr, &limits);
    Say(matcher, text);
    return May(matcher);
  };
  const std::string closing = std::to_string(kLine);
  EXPECT_EQ(after("<think>a"), "any");
  EXPECT_EQ(after("<think>ab"), closing);
  EXPECT_EQ(after(" \n<think>ab"), closing);
  EXPECT_EQ(after("<thank>ab"), "any") << "an answer";
  EXPECT_EQ(after("a<think>abc"), "any") << "an answer that speaks of the marker";
}

TEST_F(OutputMatcherTest, AGrammarHoldsForTheAnswerAlone) {
  const ReasoningLimits limits = Limits(std::nullopt, false);
  OutputMatcher matcher = Matcher("[0-9]{2}", &limits);
  EXPECT_EQ(May(matcher), "11") << "ten digits, and the marker";
  OutputMatcher answers = matcher;
  EXPECT_FALSE(answers.Accept(kCloses));
  EXPECT_EQ(May(answers), "11");
  Say(answers, "4");
  EXPECT_EQ(May(answers), "10");
  EXPECT_FALSE(answers.must_end());
  Say(answers, "2");
  EXPECT_TRUE(answers.must_end());
  EXPECT_EQ(May(answers), "end");
  EXPECT_FALSE(answers.Accept(kOpens));

  ASSERT_TRUE(matcher.Accept(kOpens));
  EXPECT_EQ(May(matcher), "258") << "all, and no end before the answer";
  Say(matcher, "4");
  EXPECT_EQ(May(matcher), "258");
  ASSERT_TRUE(matcher.Accept(kCloses));
  EXPECT_EQ(May(matcher), "10");
  Say(matcher, "42");
  EXPECT_TRUE(matcher.must_end());
}

TEST_F(OutputMatcherTest, AMarkerOfSeveralTokensIsForcedToItsEnd) {
  const ReasoningLimits limits = Limits(1, false, {kOpens, 5, kLine});
  OutputMatcher matcher = Matcher("a", &limits);
  EXPECT_EQ(May(matcher), "97 256");
  ASSERT_TRUE(matcher.Accept(kOpens));
  EXPECT_EQ(May(matcher), "5");
  EXPECT_FALSE(matcher.Accept(kLine));
  ASSERT_TRUE(matcher.Accept(5));
  EXPECT_EQ(May(matcher), std::to_string(kLine));
  ASSERT_TRUE(matcher.Accept(kLine));
  EXPECT_EQ(May(matcher), "258");
  Say(matcher, "b");
  EXPECT_EQ(May(matcher), std::to_string(kLine)) << "the budget is spent";
  ASSERT_TRUE(matcher.Accept(kLine));
  ASSERT_TRUE(matcher.Accept(kCloses));
  EXPECT_EQ(May(matcher), "97");
}

TEST_F(OutputMatcherTest, WithoutMarkersThereIsNoReasoning) {
  OutputMatcher plain = Matcher("a", nullptr);
  EXPECT_EQ(May(plain), "97");
  const ReasoningLimits unopened = Limits(0, true, {});
  OutputMatcher matcher = Matcher("a", &unopened);
  EXPECT_EQ(May(matcher), "97");
  auto dialect = std::make_shared<ReasoningDialect>(*unopened.dialect);
  dialect->opening = {kOpens};
  dialect->closing.clear();
  const ReasoningLimits unclosed{.dialect = dialect, .inside = true, .budget = 0};
  OutputMatcher other = Matcher("a", &unclosed);
  EXPECT_EQ(May(other), "97");
  OutputMatcher free = Matcher(nullptr, &unclosed);
  EXPECT_EQ(May(free), "any");
  Say(free, "abc");
  EXPECT_EQ(May(free), "any");
}

// SentencePiece writes a space before a text; what comes after reasoning does not begin one.
TEST_F(OutputMatcherTest, OnlyAnAnswerThatBeginsTheTextHasASpaceInFront) {
  VocabSpec spec = testing::SentencePieceSpec("llama", {"\u2581a", "a"});
  spec.end_of_generation = {*spec.eos};
  const std::shared_ptr<const Tokenizer> tokenizer = *Tokenizer::Create(std::move(spec), {});
  GrammarCompiler compiler(tokenizer);
  const auto grammar = compiler.Compile({.kind = GrammarSpec::Kind::kRegex, .source = "a"});
  ASSERT_TRUE(grammar);
  const TokenId spaced = 259, bare = 260;
  const ReasoningLimits limits = Limits(std::nullopt, false, {1});
  const auto allows = [&](const ReasoningLimits* given, bool starts_text) {
    const auto mask = OutputMatcher(tokenizer, *grammar, given, starts_text).Mask();
    return std::pair((*mask)->Allows(spaced), (*mask)->Allows(bare));
  };
  EXPECT_EQ(allows(nullptr, true), std::pair(true, true));
  EXPECT_EQ(allows(nullptr, false), std::pair(false, true));
  EXPECT_EQ(allows(&limits, true), std::pair(false, true));
}

}  // namespace
}  // namespace inferflux::text
