// What the requests of a chat have beyond those of a raw prompt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serving/generation/build_generation.h"
#include "serving/generation/marked_model.h"
#include "text/grammar/grammar_compiler.h"
#include "text/reasoning/output_matcher.h"
#include "text/reasoning/reasoning_dialect.h"
#include "text/tool_calls/tool_call_dialect.h"

namespace inferflux::serving {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kMarkedEnd;
using testing::MarkedModel;
using ::testing::StartsWith;
using Grammar = text::GrammarSpec;

constexpr char kPlainTemplate[] = "{{ messages[0].content }}";

Chat Says(std::string_view text) { return {.messages = {{{"role", "user"}, {"content", text}}}}; }

Chat WithTool(ToolChoice::Kind kind = ToolChoice::Kind::kAuto) {
  Chat out = Says("hi");
  out.tools = {{{"type", "function"}}};
  out.functions = {{.name = "f", .description = "", .parameters = R"({"type":"object"})", .lark = ""}};
  out.tool_choice.kind = kind;
  return out;
}

// Reasons, and calls tools, with markers that are control tokens.
ServedModel Talker(std::string_view code = kPlainTemplate) {
  ServedModel out = MarkedModel({"<think>", "</think>", "<tool_call>"}, code);
  out.grammars = std::make_shared<text::GrammarCompiler>(out.tokenizer);
  out.reasoning = std::make_shared<const text::ReasoningDialect>(text::ReasoningDialect{
      .reasoning = {.form = &text::ReasoningForms()[0]}, .opening = {}, .closing = {}, .shown = {257, 258}});
  out.tool_calls = std::make_shared<const text::ToolCallDialect>(
      text::ToolCallDialect{.calls = {.syntax = &text::HermesSyntax(), .several = true},
                            .tokens = {.shown = {259}, .control = {}, .ends = {}}});
  return out;
}

scheduler::GenerationRequest First(const ServedModel& model, Chat chat, GenerationSpec spec = {}) {
  auto built = BuildChat(model, std::move(chat), std::move(spec));
  EXPECT_TRUE(built) << (built ? "" : ToError(built.error()).message);
  return built && !built->requests.empty() ? built->requests.front() : scheduler::GenerationRequest();
}

std::string Why(const ServedModel& model, Chat chat, GenerationSpec spec = {}) {
  const auto built = BuildChat(model, std::move(chat), std::move(spec));
  return built ? "built" : ToError(built.error()).message;
}

TEST(BuildChatTest, EachChoiceHasItsRequestAndItsParser) {
  const auto built = BuildChat(MarkedModel({}, kPlainTemplate), Says("hi"), {.choices = 3});
  ASSERT_TRUE(built);
  ASSERT_EQ(built->requests.size(), 3u);
  EXPECT_EQ(built->answers.size(), 3u);
  for (const auto& request : built->requests) {
    EXPECT_EQ(request.prompt, BytesOf("hi"));
    EXPECT_FALSE(request.continues_text);
    EXPECT_TRUE(request.prediction.empty());
    EXPECT_TRUE(request.shown_control.empty());
    EXPECT_EQ(request.reasoning, nullptr);
  }
}

TEST(BuildChatTest, APredictionIsOfUseUpToTheEndOfTheContext) {
  ServedModel model = MarkedModel({}, kPlainTemplate);
  model.info.context = 5;
  const auto predicted = [&](const std::string& text) {
    const auto built = BuildChat(model, Says("hi"), {.prediction = text, .choices = 2});
    EXPECT_TRUE(built);
    EXPECT_EQ(built->requests[0].prediction, built->requests[1].prediction);
    return built->requests[1].prediction;
  };
  EXPECT_EQ(predicted(""), BytesOf(""));
  EXPECT_EQ(predicted("abcd"), BytesOf("abcd"));
  EXPECT_EQ(predicted("abcde"), BytesOf("abcde"));
  EXPECT_EQ(predicted("abcdef"), BytesOf("abcde"));
}

TEST(BuildChatTest, MarkersAreShownToWhatReadsThem) {
  EXPECT_THAT(First(Talker(), Says("hi")).shown_control, ElementsAre(257, 258)) << "no tools are offered";
  EXPECT_THAT(First(Talker(), WithTool()).shown_control, ElementsAre(259, 257, 258));
  ServedModel no_reasoning = Talker();
  no_reasoning.reasoning = nullptr;
  EXPECT_THAT(First(no_reasoning, WithTool()).shown_control, ElementsAre(259));
  ServedModel no_syntax = Talker();
  no_syntax.tool_calls = nullptr;
  EXPECT_THAT(First(no_syntax, WithTool()).shown_control, ElementsAre(257, 258));
  EXPECT_THAT(First(Talker(), WithTool(ToolChoice::Kind::kNone)).shown_control, ElementsAre(257, 258));
}

TEST(BuildChatTest, AGrammarOrABudgetNeedsToKnowTheReasoning) {
  EXPECT_EQ(First(Talker(), Says("hi")).reasoning, nullptr);
  Chat with_budget = Says("hi");
  with_budget.reasoning.budget = 7;
  const auto budget = First(Talker(), with_budget).reasoning;
  ASSERT_NE(budget, nullptr);
  EXPECT_EQ(budget->budget, 7);
  EXPECT_FALSE(budget->inside);
  EXPECT_NE(budget->dialect, nullptr);
  const GenerationSpec constrained{.grammar = Grammar{.kind = Grammar::Kind::kRegex, .source = "a"}};
  const auto here = First(Talker("x<think>"), Says("hi"), constrained).reasoning;
  ASSERT_NE(here, nullptr);
  EXPECT_FALSE(here->budget);
  EXPECT_TRUE(here->inside) << "the prompt opens it";
  ServedModel elsewhere = Talker();
  elsewhere.grammars = nullptr;
  EXPECT_NE(First(elsewhere, Says("hi"), constrained).reasoning, nullptr) << "its worker compiles the grammar";
  ServedModel no_reasoning = Talker();
  no_reasoning.reasoning = nullptr;
  EXPECT_EQ(First(no_reasoning, Says("hi"), constrained).reasoning, nullptr);
}

TEST(BuildChatTest, AnAnswersParserKnowsWhereThePromptEnds) {
  const auto reasoning = [](std::string_view code) {
    auto built = BuildChat(Talker(code), Says("hi"), {});
    EXPECT_TRUE(built);
    scheduler::StreamEvent event;
    event.text = "a</think>b";
    event.finish.emplace();
    return built->answers.at(0).Take(event).reasoning;
  };
  EXPECT_EQ(reasoning("x<think>"), "a");
  EXPECT_EQ(reasoning("x"), "");
}

TEST(BuildChatTest, AForcedCallHasTheSyntaxOfTheModel) {
  ServedModel model = Talker();
  const auto syntax = text::ToolCallSyntaxes().subspan(1).front();
  model.tool_calls = std::make_shared<const text::ToolCallDialect>(
      text::ToolCallDialect{.calls = {.syntax = &text::ToolCallSyntaxes()[1], .several = false},
                            .tokens = {.shown = {259}, .control = {"<tool_call>"}, .ends = {}}});
  const auto calls = [&](bool several_of_model, bool parallel) {
    auto dialect = *model.tool_calls;
    dialect.calls.several = several_of_model;
    ServedModel changed = model;
    changed.tool_calls = std::make_shared<const text::ToolCallDialect>(dialect);
    changed.grammars = nullptr;
    Chat chat = WithTool(ToolChoice::Kind::kRequired);
    chat.parallel_tool_calls = parallel;
    const auto request = First(changed, std::move(chat));
    return request.grammar_source ? request.grammar_source->tool_calls : text::ToolCallSpec();
  };
  EXPECT_EQ(calls(true, true).syntax->id, syntax.id);
  EXPECT_THAT(calls(true, true).tokens.shown, ElementsAre(259));
  EXPECT_THAT(calls(true, true).tokens.control, ElementsAre("<tool_call>"));
  EXPECT_TRUE(calls(true, true).several);
  EXPECT_FALSE(calls(false, true).several);
  EXPECT_FALSE(calls(true, false).several);
  EXPECT_TRUE(calls(true, true).forced);
}

TEST(BuildChatTest, ErrorsNameTheFieldThatIsWrong) {
  const ServedModel model = Talker();
  EXPECT_EQ(Why(MarkedModel(), Says("hi")), "the model 'm' has no chat template");
  EXPECT_EQ(Why(model, Says(std::string(1000, 'a'))),
            "the prompt has 1000 tokens, but the model's context of 1000 leaves no room for an answer");
  EXPECT_EQ(Why(model, Says(std::string(999, 'a'))), "built");
  Chat odd = WithTool(ToolChoice::Kind::kRequired);
  odd.functions[0].parameters = R"({"type":"object","properties":{"a":{"type":"odd"}}})";
  EXPECT_THAT(Why(model, odd), StartsWith("the list of tools cannot be used: "));
  EXPECT_THAT(Why(model, Says("hi"), {.grammar = Grammar{.kind = Grammar::Kind::kRegex, .source = "("}}),
              StartsWith("the grammar cannot be used: "));
  GenerationSpec bias;
  bias.sampling.params.logit_bias = {{5000, 1.0f}};
  EXPECT_THAT(Why(model, Says("hi"), bias), HasSubstr("logit_bias names the token 5000"));
  ServedModel unknown = Talker();
  unknown.tool_calls = nullptr;
  EXPECT_THAT(Why(unknown, WithTool(ToolChoice::Kind::kRequired)), StartsWith("the tool choice needs a model whose"));
  Chat none = Says("hi");
  none.tool_choice.kind = ToolChoice::Kind::kRequired;
  EXPECT_EQ(Why(model, none), "the tool choice forces a call, but there are no 'tools'");
}

TEST(ToolCallParsersTest, WhatWasCutOfAForcedCallIsNoText) {
  const auto content = [](ToolChoice::Kind kind) {
    auto parsers = ToolCallParsers(MarkedModel(), WithTool(kind), 1);
    const auto out = parsers.at(0)->Feed("<tool_");
    return out.content + parsers.at(0)->Finish(true).content;
  };
  EXPECT_EQ(content(ToolChoice::Kind::kAuto), "<tool_");
  EXPECT_EQ(content(ToolChoice::Kind::kRequired), "");
  EXPECT_EQ(content(ToolChoice::Kind::kFunction), "");
}

TEST(ToolCallParsersTest, EachAnswerHasOneThatKnowsTheFunctions) {
  const ServedModel model = MarkedModel();
  EXPECT_TRUE(ToolCallParsers(model, Says("hi"), 2).empty()) << "no tools";
  const auto found = [&](const Chat& chat, const std::string& text) {
    auto parsers = ToolCallParsers(model, chat, 2);
    EXPECT_EQ(parsers.size(), 2u);
    auto out = parsers.back()->Feed(text);
    auto end = parsers.back()->Finish();
    std::string calls;
    for (const auto* list : {&out.calls, &end.calls}) {
      for (const auto& call : *list) calls += call.name + call.arguments + " ";
    }
    return calls + "|" + out.content + end.content;
  };
  const auto call = [](const std::string& name) {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  };
  EXPECT_EQ(found(WithTool(), call("f")), "f{\"a\":1} |");
  EXPECT_EQ(found(WithTool(), call("f") + "\n" + call("f")), "f{\"a\":1} f{\"a\":1} |");
  EXPECT_EQ(found(WithTool(), call("g")), "|" + call("g")) << "which is not offered";
}

}  // namespace
}  // namespace inferflux::serving
