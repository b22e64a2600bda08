// An answer taken apart as it arrives: reasoning, content and calls.
#include "serving/generation/answer_parser.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serving/generation/marked_model.h"
#include "serving/generation/tool_use.h"
#include "text/reasoning/reasoning_dialect.h"

namespace inferflux::serving {
namespace {

using testing::kMarkedEnd;
using testing::MarkedModel;

constexpr TokenId kOpens = kMarkedEnd + 1, kCloses = kMarkedEnd + 2;

ServedModel Thinker() {
  ServedModel out = MarkedModel({"<think>", "</think>"});
  out.reasoning = std::make_shared<const text::ReasoningDialect>(
      text::ReasoningDialect{.reasoning = {.form = &text::ReasoningForms()[0]},
                             .opening = {kOpens},
                             .closing = {kCloses},
                             .shown = {kOpens, kCloses}});
  return out;
}

// An event of these tokens: control tokens are shown by their names.
scheduler::StreamEvent Event(const ServedModel& model, const std::vector<TokenId>& tokens,
                             std::optional<scheduler::Finish> finish = {}) {
  scheduler::StreamEvent out;
  for (const TokenId id : tokens) {
    out.text += model.tokenizer->Bytes(id, true);
    out.tokens.push_back({.chosen = {.id = id, .bytes = std::string(model.tokenizer->Bytes(id))}, .top = {}});
  }
  out.finish = std::move(finish);
  return out;
}

scheduler::StreamEvent TextEvent(const std::string& text, std::optional<scheduler::Finish> finish = {}) {
  scheduler::StreamEvent out;
  out.text = text;
  out.finish = std::move(finish);
  return out;
}

std::unique_ptr<text::ToolCallParser> CallsOfF() {
  Chat chat;
  chat.tools = {{{"type", "function"}}};
  chat.functions = {{.name = "f", .description = "", .parameters = "", .lark = ""}};
  return std::move(ToolCallParsers(MarkedModel(), chat, 1).at(0));
}

TEST(AnswerParserTest, WithoutReasoningAndToolsAllTextIsContent) {
  AnswerParser parser;
  const auto out = parser.Take(TextEvent("<think>a</think><tool_call>", scheduler::Finish{}));
  EXPECT_EQ(out.content, "<think>a</think><tool_call>");
  EXPECT_EQ(out.reasoning, "");
  EXPECT_EQ(parser.found(), 0u);
  EXPECT_EQ(parser.reasoning_tokens(), 0);
}

TEST(AnswerParserTest, ReasoningIsToldApartAndItsTokensAreCounted) {
  const ServedModel model = Thinker();
  AnswerParser parser(model, false, nullptr);
  auto out = parser.Take(Event(model, {kOpens, 'a', 'b'}));
  EXPECT_EQ(out.reasoning, "ab");
  EXPECT_EQ(out.content, "");
  out = parser.Take(Event(model, {'c', kCloses, 'd'}));
  EXPECT_EQ(out.reasoning, "c");
  EXPECT_EQ(out.content, "d");
  EXPECT_EQ(parser.reasoning_tokens(), 5) << "the markers too";
  out = parser.Take(Event(model, {'e'}, scheduler::Finish{}));
  EXPECT_EQ(out.content, "e");
  EXPECT_EQ(parser.reasoning_tokens(), 5);
}

TEST(AnswerParserTest, ReasoningThatThePromptOpenedNeedsNoMarker) {
  const ServedModel model = Thinker();
  AnswerParser inside(model, true, nullptr);
  auto out = inside.Take(Event(model, {'a', kCloses, 'b'}, scheduler::Finish{}));
  EXPECT_EQ(out.reasoning, "a");
  EXPECT_EQ(out.content, "b");
  EXPECT_EQ(inside.reasoning_tokens(), 2);
  AnswerParser outside(model, false, nullptr);
  out = outside.Take(Event(model, {'a', 'b'}, scheduler::Finish{}));
  EXPECT_EQ(out.reasoning, "");
  EXPECT_EQ(out.content, "ab");
  EXPECT_EQ(outside.reasoning_tokens(), 0);
}

TEST(AnswerParserTest, TheEndReleasesWhatWasHeldBack) {
  const ServedModel model = Thinker();
  AnswerParser in_reasoning(model, true, nullptr);
  EXPECT_EQ(in_reasoning.Take(TextEvent("a</thi")).reasoning, "a");
  const auto rest = in_reasoning.Take(TextEvent("", scheduler::Finish{}));
  EXPECT_EQ(rest.reasoning, "</thi");
  EXPECT_EQ(rest.content, "");
  AnswerParser at_start(model, false, nullptr);
  EXPECT_EQ(at_start.Take(TextEvent("<thi")).content, "");
  EXPECT_EQ(at_start.Take(TextEvent("", scheduler::Finish{})).content, "<thi");
}

TEST(AnswerParserTest, CallsAreFoundBehindTheReasoning) {
  const ServedModel model = Thinker();
  AnswerParser parser(model, false, CallsOfF());
  auto out = parser.Take(TextEvent("<think>a</think>b<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": "));
  EXPECT_EQ(out.reasoning, "a");
  EXPECT_EQ(out.content, "b");
  ASSERT_EQ(out.pieces.size(), 1u);
  EXPECT_EQ(out.pieces[0].name, "f");
  EXPECT_EQ(out.PiecesOfOpenCall().size(), 0u);
  EXPECT_EQ(out.PiecesOfNewCalls().size(), 1u);
  EXPECT_EQ(parser.found(), 0u);
  out = parser.Take(TextEvent("1}}\n</tool_call>", scheduler::Finish{}));
  ASSERT_EQ(out.calls.size(), 1u);
  EXPECT_EQ(out.calls[0].name, "f");
  EXPECT_EQ(out.calls[0].arguments, "{\"x\":1}");
  EXPECT_TRUE(out.calls[0].whole());
  EXPECT_EQ(out.content, "");
  EXPECT_EQ(parser.found(), 1u);
}

TEST(AnswerParserTest, ACallIsCutOnlyWhereTheModelWouldHaveGoneOn) {
  const auto end = [](scheduler::Finish finish) {
    AnswerParser parser(MarkedModel(), false, CallsOfF());
    auto out = parser.Take(TextEvent("<tool_call>\n{\"name\": \"f\"", std::move(finish)));
    return out.content + (out.calls.empty() ? "" : " and a call");
  };
  const std::string text = "<tool_call>\n{\"name\": \"f\"";
  EXPECT_EQ(end({.reason = scheduler::FinishReason::kStop, .error = {}, .usage = {}}), text);
  const std::string cut = end({.reason = scheduler::FinishReason::kLength, .error = {}, .usage = {}});
  EXPECT_NE(cut, text);
  EXPECT_EQ(end({.reason = scheduler::FinishReason::kStop, .error = {}, .usage = {}, .stop_string = "x"}), cut);
}

TEST(AnswerParserTest, PiecesOfAnOpenCallPrecedeThoseOfNewOnes) {
  AnswerParser::Output out;
  out.pieces = {{0, "", "a"}, {0, "", "b"}, {1, "f", "c"}, {1, "", "d"}};
  ASSERT_EQ(out.PiecesOfOpenCall().size(), 2u);
  EXPECT_EQ(out.PiecesOfOpenCall()[1].arguments, "b");
  ASSERT_EQ(out.PiecesOfNewCalls().size(), 2u);
  EXPECT_EQ(out.PiecesOfNewCalls()[0].arguments, "c");
  out.pieces = {{0, "", "a"}};
  EXPECT_EQ(out.PiecesOfOpenCall().size(), 1u);
  EXPECT_TRUE(out.PiecesOfNewCalls().empty());
}

}  // namespace
}  // namespace inferflux::serving
