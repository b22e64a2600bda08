// Reasoning before an answer: its budget, and grammars that begin after it.
#include <gtest/gtest.h>

#include "scheduler/scheduler_driver.h"
#include "text/grammar/grammar_compiler.h"
#include "text/reasoning/output_matcher.h"

namespace inferflux::scheduler {
namespace {

const std::vector<std::string> kMarks = {"<think>", "</think>"};

// The scripted continuation of the text, or the first allowed token.
std::function<TokenId(FakeEngine::History, const engine::OutputSpec&)> Say(std::string script, size_t prompt) {
  return [script = std::move(script), prompt](FakeEngine::History history, const engine::OutputSpec& spec) -> TokenId {
    const size_t at = history.size() - prompt;
    const TokenId wanted = at < script.size() ? static_cast<uint8_t>(script[at]) : 'x';
    if (!spec.mask || spec.mask->Allows(wanted)) return wanted;
    for (TokenId id = 0; id < spec.mask->size(); ++id) {
      if (spec.mask->Allows(id)) return id;
    }
    return engine::kNoToken;
  };
}

class ReasoningTest : public ::testing::Test {
 protected:
  std::shared_ptr<const text::Tokenizer> tokenizer_ = FakeTokenizer(kMarks);
  text::GrammarCompiler compiler_{tokenizer_};

  std::shared_ptr<const text::ReasoningLimits> Limits(std::optional<int32_t> budget, bool inside) {
    auto dialect = std::make_shared<text::ReasoningDialect>();
    dialect->reasoning.form = text::ReasoningForms().data();
    dialect->opening = {*tokenizer_->Find("<think>")};
    dialect->closing = {*tokenizer_->Find("</think>")};
    return std::make_shared<const text::ReasoningLimits>(
        text::ReasoningLimits{.dialect = std::move(dialect), .inside = inside, .budget = budget});
  }
  static GenerationRequest Constrained(std::shared_ptr<const text::TokenGrammar> grammar,
                                       std::shared_ptr<const text::ReasoningLimits> limits) {
    GenerationRequest out;
    out.max_tokens = 12;
    out.grammar = std::move(grammar);
    out.reasoning = std::move(limits);
    return out;
  }
  std::string Text(const std::string& script, GenerationRequest request) {
    request.prompt = Bytes("q");
    SchedulerDriver driver(Say(script, 1), {.blocks = 100, .context = 400}, {}, tokenizer_);
    return driver.Generate(std::move(request)).text;
  }
};

TEST_F(ReasoningTest, ABudgetForcesTheClosingMarker) {
  EXPECT_EQ(Text("abcdefghijkl", Constrained(nullptr, Limits(3, true))), "abc</think>efghijkl");
  EXPECT_EQ(Text("abcdefghijkl", Constrained(nullptr, Limits(0, true))), "</think>bcdefghijkl");
  EXPECT_EQ(Text("abcdefghijkl", Constrained(nullptr, Limits(3, false))), "abcdefghijkl") << "no reasoning began";
}

TEST_F(ReasoningTest, AGrammarConstrainsTheAnswerOnly) {
  const auto grammar = compiler_.Compile({.kind = text::GrammarSpec::Kind::kRegex, .source = "[0-9]{2}"});
  ASSERT_TRUE(grammar);
  EXPECT_EQ(Text("ab</think>77", Constrained(*grammar, Limits(std::nullopt, true))), "ab</think>77");
  EXPECT_EQ(Text("abcdefg", Constrained(*grammar, Limits(2, true))), "ab</think>00");
  EXPECT_EQ(Text("77", Constrained(*grammar, Limits(2, false))), "77");
  GenerationRequest longer = Constrained(*grammar, Limits(std::nullopt, true));
  longer.max_tokens = 60;
  EXPECT_EQ(Text("a</thinx>bcdefghijklm</think>778", longer), "a</thinx>bcdefghijklm</think>77")
      << "the marker is found in bytes, wherever it is";
}

TEST_F(ReasoningTest, TheMarkerEndsTheReasoningBehindAnyNumberOfBytes) {
  const auto grammar = compiler_.Compile({.kind = text::GrammarSpec::Kind::kRegex, .source = "[0-9]{2}"});
  ASSERT_TRUE(grammar);
  for (size_t bytes = 0; bytes < 20; ++bytes) {
    for (const char* before : {"", "<", "</thin", "</think"}) {
      GenerationRequest request = Constrained(*grammar, Limits(std::nullopt, true));
      request.max_tokens = 60;
      const std::string text = std::string(bytes, 'a') + before + "</think>77";
      EXPECT_EQ(Text(text + "8", request), text);
    }
  }
}

TEST_F(ReasoningTest, ABudgetCountsEachTokenOfTheReasoning) {
  for (int32_t budget = 1; budget < 6; ++budget) {
    const auto at = static_cast<size_t>(budget);
    const std::string script = "abcdefghijkl";
    EXPECT_EQ(Text(script, Constrained(nullptr, Limits(budget, true))),
              script.substr(0, at) + "</think>" + script.substr(at + 1));
  }
  EXPECT_EQ(Text("ab</think>cd", Constrained(nullptr, Limits(10, true))), "ab</think>cd") << "the last is the marker's";
  EXPECT_EQ(Text("ab</think>cd", Constrained(nullptr, Limits(9, true))).substr(0, 17), "ab</think</think>");
}

}  // namespace
}  // namespace inferflux::scheduler
