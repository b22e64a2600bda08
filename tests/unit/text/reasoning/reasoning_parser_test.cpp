#include "text/reasoning/reasoning_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "text/reasoning/reasoning_tokens.h"

namespace inferflux::text {
namespace {

const ReasoningForm& FormNamed(std::string_view id) {
  const auto forms = ReasoningForms();
  const auto found = std::ranges::find(forms, id, &ReasoningForm::id);
  EXPECT_NE(found, forms.end()) << id;
  return *found;
}

// "reasoning | content", the same however the text is cut.
std::string Parsed(const ReasoningForm& form, std::string_view text, bool inside) {
  std::string first;
  for (size_t step = 1; step <= text.size() + 1; ++step) {
    ReasoningParser parser(form, inside);
    std::string reasoning, content;
    const auto take = [&](const ReasoningParser::Output& out) {
      reasoning += out.reasoning;
      content += out.content;
    };
    for (size_t at = 0; at < text.size(); at += step) take(parser.Feed(text.substr(at, step)));
    take(parser.Finish());
    const std::string both = reasoning + " | " + content;
    if (step == 1) first = both;
    EXPECT_EQ(both, first) << "cut every " << step << " bytes: " << text;
  }
  return first;
}

TEST(ReasoningParserTest, ReasoningAndAnswerAreApartHoweverTheTextIsCut) {
  const ReasoningForm& think = FormNamed("think");
  EXPECT_EQ(Parsed(think, "<think>\nhm, 2 < 3\n</think>\n\nThree. ", false), "hm, 2 < 3 | Three. ");
  EXPECT_EQ(Parsed(think, "hm\n</think>\n\nThree.", true), "hm | Three.");
  EXPECT_EQ(Parsed(think, "\n<think></think>Three.", false), " | Three.");
  EXPECT_EQ(Parsed(think, "<think>a\n\nb </th c</think>d", false), "a\n\nb </th c | d");
}

TEST(ReasoningParserTest, WithoutReasoningTheAnswerIsUnchanged) {
  const ReasoningForm& think = FormNamed("think");
  EXPECT_EQ(Parsed(think, "  Three.\n", false), " |   Three.\n");
  EXPECT_EQ(Parsed(think, "<thin", false), " | <thin");
  EXPECT_EQ(Parsed(think, "I <think> so.</think>", false), " | I <think> so.</think>");
  EXPECT_EQ(Parsed(think, "", false), " | ");
}

TEST(ReasoningTokensTest, CountsTheReasoningWithItsMarkers) {
  const auto count = [](const ReasoningForm& form, bool inside, const std::vector<std::string>& tokens) {
    ReasoningTokens counter(form, inside);
    for (const std::string& token : tokens) counter.Take(token);
    return counter.count();
  };
  const ReasoningForm& think = FormNamed("think");
  EXPECT_EQ(count(think, false, {"<think>", "\n", "hm", "</think>", "\n\n", "Three", "."}), 4);
  EXPECT_EQ(count(think, false, {"<th", "ink", ">", "hm", "</", "think", ">", "Three"}), 7);
  EXPECT_EQ(count(think, true, {"hm", ",", " well", "</think>", "Three"}), 4);
  EXPECT_EQ(count(think, true, {"hm", " \xF0\x9F", "\xAA\xB6"}), 3) << "a token may be a part of a character";
  EXPECT_EQ(count(think, false, {"<th", "ree", "</think>"}), 0) << "no reasoning";
  EXPECT_EQ(count(think, false, {" ", "Three"}), 0);
  EXPECT_EQ(count(FormNamed("harmony"), false,
                  {"<|channel|>", "analysis", "<|message|>", "a", "<|end|>", "<|start|>", "assistant", "<|channel|>",
                   "analysis", "<|message|>", "b", "<|end|>", "<|start|>", "assistant", "<|channel|>", "final",
                   "<|message|>", "c"}),
            12);
}

TEST(ReasoningParserTest, AnAnswerThatEndsInsideIsAllReasoning) {
  const ReasoningForm& think = FormNamed("think");
  EXPECT_EQ(Parsed(think, "<think>hm </thi", false), "hm </thi | ");
  EXPECT_EQ(Parsed(think, "hm", true), "hm | ");
}

TEST(ReasoningParserTest, MarkersOfTheAnswerAreNoText) {
  const ReasoningForm& harmony = FormNamed("harmony");
  EXPECT_EQ(Parsed(harmony,
                   "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Three.", false),
            "hm | Three.");
  EXPECT_EQ(Parsed(harmony, "<|channel|>final<|message|>Three.", false), " | Three.");
  EXPECT_EQ(Parsed(harmony,
                   "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|>"
                   "<|start|>assistant<|channel|>final<|message|>c",
                   false),
            "a\nb | c");
  EXPECT_EQ(Parsed(FormNamed("solar"), "<|think|>hm<|end|><|begin|>assistant<|content|>Three.", false), "hm | Three.");
  EXPECT_EQ(Parsed(FormNamed("gemma 4"), "<|channel>thought\nhm<channel|>Three.", false), "hm | Three.");
  EXPECT_EQ(Parsed(FormNamed("command"), "<|START_THINKING|>hm<|END_THINKING|>Three.", false), "hm | Three.");
}

}  // namespace
}  // namespace inferflux::text
