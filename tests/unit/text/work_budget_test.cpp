// Text, templates and grammars end early once their thread's budget of work is spent, and keep nothing of it.
#include "base/work_budget/work_budget.h"

#include <gtest/gtest.h>

#include "text/grammar/grammar_compiler.h"
#include "text/grammar/grammar_text.h"
#include "text/jinja/render.h"
#include "text/tokenizer/vocabularies.h"

namespace inferflux::text {
namespace {

using namespace std::chrono_literals;
using testing::Gbnf;
using testing::Regex;
using testing::Schema;

std::vector<std::pair<std::string, std::shared_ptr<const Tokenizer>>> Tokenizers() {
  const std::vector<std::string> pieces = {"▁", "a", "b", "▁a", "ab", "aa", "aaaa"};
  const std::vector<std::string> merges = {"a a", "aa aa"};
  return {{"byte-level", testing::Make(testing::ByteLevelSpec(merges), merges)},
          {"regex", testing::Make(testing::ByteLevelSpec(merges, "deepseek-llm"), merges)},
          {"SentencePiece", testing::Make(testing::SentencePieceSpec("llama", pieces))},
          {"unigram", testing::Make(testing::SentencePieceSpec("t5", pieces))},
          {"WordPiece", testing::Make(testing::WordPieceSpec({"▁a", "a", "▁b", "b"}))}};
}

TEST(TextWorkBudget, ATokenizerStops) {
  std::string words;
  while (words.size() < 4'000'000) words += "aaab b ";
  const std::string one_word(4'000'000, 'a');
  for (const auto& [name, tokenizer] : Tokenizers()) {
    for (const std::string& text : {words, one_word}) {
      WorkBudget budget({.cpu = 1ms});
      const auto before = ThreadCpuTime();
      tokenizer->Encode(text);
      const auto used = ThreadCpuTime() - before;
      // What is linear and fast in the whole text is done first: splitting it, checking its characters.
      EXPECT_LT(used, 3s) << name;
      if (name == "WordPiece" && text == one_word) continue;  // a word of more than 100 letters is unknown at once
      EXPECT_EQ(budget.end(), WorkBudget::End::kCpu) << name << ", " << text.substr(0, 8);
    }
  }
}

TEST(TextWorkBudget, ATemplateStops) {
  const std::string source = "{% for i in range(3000) %}{% for j in range(3000) %}{{ i + j }}{% endfor %}{% endfor %}";
  WorkBudget budget({.cpu = 5ms});
  const auto before = ThreadCpuTime();
  const auto rendered = RenderText(source, {});
  EXPECT_LT(ThreadCpuTime() - before, 1s);
  EXPECT_FALSE(rendered.has_value());
  EXPECT_EQ(budget.end(), WorkBudget::End::kCpu);
}

std::vector<GrammarSpec> SlowGrammars() {
  std::string many = R"({"type":"object","properties":{)";
  for (int i = 0; i < 12; ++i) {
    many += std::string(i > 0 ? "," : "") + "\"p" + std::to_string(i) +
            R"(":{"type":"string","pattern":"^(a|b)*a(a|b){11}$"})";
  }
  std::string enums = R"({"anyOf":[)";
  for (int i = 0; i < 8; ++i) {
    enums += std::string(i > 0 ? "," : "") + R"({"enum":[)";
    for (int j = 0; j < 2000; ++j) enums += std::string(j > 0 ? "," : "") + "\"" + std::to_string(i * 2000 + j) + "\"";
    enums += "]}";
  }
  return {Schema(many + "}}"), Schema(enums + "]}"), Regex("(a|b)*a(a|b){12}"),
          Gbnf("root ::= (\"a\" | \"b\")* \"a\" (\"a\" | \"b\"){11}")};
}

TEST(TextWorkBudget, AGrammarStopsAndIsNotKept) {
  const auto tokenizer = testing::Make(testing::ByteLevelSpec({}));
  for (const GrammarSpec& spec : SlowGrammars()) {
    GrammarCompiler compiler(tokenizer);
    {
      WorkBudget budget({.deadline = std::chrono::steady_clock::now() - 1s});
      const auto before = ThreadCpuTime();
      const auto compiled = compiler.Compile(spec);
      EXPECT_LT(ThreadCpuTime() - before, 1s) << spec.source.substr(0, 60);
      EXPECT_FALSE(compiled.has_value()) << spec.source.substr(0, 60);
      EXPECT_EQ(budget.end(), WorkBudget::End::kDeadline);
    }
    const auto whole = compiler.Compile(spec);
    const auto fresh = GrammarCompiler(tokenizer).Compile(spec);
    ASSERT_EQ(whole.has_value(), fresh.has_value()) << spec.source.substr(0, 60);
    if (!whole) continue;
    EXPECT_EQ((*whole)->grammar()->states(), (*fresh)->grammar()->states()) << "nothing of the cut work is left";
  }
}

// A repetition of the empty text reads nothing and makes no states, so no limit on states ends its loop.
TEST(TextWorkBudget, RepetitionsOfNothingTakeNoTime) {
  const auto tokenizer = testing::Make(testing::ByteLevelSpec({}));
  std::string rule = "root ::= \"a\"";
  for (int i = 0; i < 200; ++i) rule += " \"\"{0,1000000} \"\"{1000000}";
  const std::string pattern = "^(?:(?:(?:){1000000}){1000}){1000}a$";
  const auto text = [&](std::string_view more) {
    return Schema(R"({"type":"string","pattern":")" + pattern + "\"" + std::string(more) + "}");
  };
  for (const GrammarSpec& spec : {Gbnf(rule), Regex(pattern), text(""), text(R"(,"maxLength":3)")}) {
    const auto before = ThreadCpuTime();
    const auto compiled = GrammarCompiler(tokenizer).Compile(spec);
    EXPECT_LT(ThreadCpuTime() - before, 1s) << spec.source.substr(0, 60);
    EXPECT_TRUE(compiled.has_value() || spec.source.ends_with(":3}")) << compiled.error().message;
  }
}

}  // namespace
}  // namespace inferflux::text
