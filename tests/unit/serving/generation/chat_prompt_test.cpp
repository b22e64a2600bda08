// What a chat template is given, and which chats a model refuses.
#include "serving/generation/chat_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serving/generation/marked_model.h"
#include "serving/models/model_recipe.h"
#include "text/reasoning/reasoning_dialect.h"
#include "text/tool_calls/tool_call_dialect.h"

namespace inferflux::serving {
namespace {

using testing::BytesOf;
using testing::kMarkedEnd;
using testing::MarkedModel;
using testing::TemplateOf;
namespace json = boost::json;

constexpr TokenId kThink = kMarkedEnd + 1;

json::array SaidBy(std::string_view role, std::string_view content) { return {{{"role", role}, {"content", content}}}; }

std::string Rendered(const ServedModel& model, Chat chat) {
  const auto spans = RenderChat(model, std::move(chat));
  if (!spans) return ToError(spans.error()).message;
  std::string out;
  for (const text::TextSpan& span : *spans) out += span.text;
  return out;
}

std::shared_ptr<const text::ReasoningDialect> Thinks(std::string_view key = "reasoning_content") {
  return std::make_shared<const text::ReasoningDialect>(text::ReasoningDialect{
      .reasoning = {.form = &text::ReasoningForms()[0], .key = key}, .opening = {}, .closing = {}, .shown = {}});
}

TEST(ChatPromptTest, ATemplateKnowsTheMessagesTheToolsAndTheModelsTokens) {
  ServedModel model = MarkedModel({},
                                  "{{ bos_token }},{{ eos_token }},{{ messages[0].content }},{{ tools is defined }},"
                                  "{{ add_generation_prompt }},{{ own }}");
  Chat chat{.messages = SaidBy("user", "hi")};
  EXPECT_EQ(Rendered(model, chat), ",</s>,hi,False,True,");
  chat.tools = {{{"type", "function"}}};
  chat.template_variables = {{"own", "x"}, {"messages", "not these"}};
  EXPECT_EQ(Rendered(model, chat), ",</s>,hi,True,True,x");
  model.tokenizer = testing::MarkedTokenizer({"<s>"}, [](text::VocabSpec& vocab) {
    vocab.bos = kMarkedEnd + 1;
    vocab.eos.reset();
  });
  EXPECT_EQ(Rendered(model, chat), "<s>,,hi,True,True,x");
}

TEST(ChatPromptTest, ReasoningIsSwitchedByTheVariablesOfTemplates) {
  ServedModel model = MarkedModel({}, "{{ enable_thinking }},{{ reasoning_effort }}");
  const auto said = [&](std::optional<bool> enabled, const std::string& effort) {
    Chat chat{.messages = SaidBy("user", "hi")};
    chat.reasoning = {.enabled = enabled, .effort = effort, .budget = {}};
    return Rendered(model, std::move(chat));
  };
  EXPECT_EQ(said({}, ""), ",");
  EXPECT_EQ(said({}, "low"), ",low") << "a model that does not reason";
  EXPECT_EQ(said(false, ""), "False,");
  model.reasoning = Thinks();
  EXPECT_EQ(said({}, ""), ",");
  EXPECT_EQ(said({}, "low"), "True,low");
  EXPECT_EQ(said(false, "low"), "False,low");
  EXPECT_EQ(said(true, ""), "True,");
}

TEST(ChatPromptTest, OnlyAModelThatReasonsCanBeAskedTo) {
  ServedModel model = MarkedModel({}, "x");
  const auto said = [&](ReasoningSpec reasoning) {
    Chat chat;
    chat.reasoning = std::move(reasoning);
    const auto spans = RenderChat(model, std::move(chat));
    if (spans) return std::string("rendered");
    EXPECT_EQ(spans.error().kind, GenerationError::Kind::kUnsupported);
    return ToError(spans.error()).message;
  };
  const std::string refused =
      "reasoning needs a model that reasons, and the chat template of 'm' shows no known form of reasoning: leave the "
      "field out";
  EXPECT_EQ(said({.enabled = true, .effort = "", .budget = {}}), refused);
  EXPECT_EQ(said({.enabled = {}, .effort = "", .budget = 0}), refused);
  EXPECT_EQ(said({.enabled = false, .effort = "", .budget = 5}), refused);
  EXPECT_EQ(said({.enabled = false, .effort = "", .budget = {}}), "rendered");
  EXPECT_EQ(said({.enabled = {}, .effort = "low", .budget = {}}), "rendered");
  model.reasoning = Thinks();
  EXPECT_EQ(said({.enabled = true, .effort = "", .budget = 5}), "rendered");
}

TEST(ChatPromptTest, ReasoningThatATemplateOpensAllTheSameIsClosed) {
  ServedModel model = MarkedModel({"<think>", "</think>"}, "a<think>");
  model.reasoning = Thinks();
  const auto tokens = [&](std::optional<bool> enabled) {
    Chat chat;
    chat.reasoning.enabled = enabled;
    return ChatPrompt(model, std::move(chat)).value();
  };
  const auto opened = tokens({});
  ASSERT_EQ(opened.size(), 2u);
  EXPECT_EQ(opened.back(), kThink);
  EXPECT_EQ(tokens(true), opened);
  std::vector<TokenId> closed = opened;
  closed.push_back('\n');
  closed.push_back(kThink + 1);
  closed.insert(closed.end(), {'\n', '\n'});
  EXPECT_EQ(tokens(false), closed);
  model.chat_template = TemplateOf("ab");
  EXPECT_EQ(tokens(false).size(), 2u) << "nothing is open";
}

TEST(ChatPromptTest, PastCallsAndReasoningHaveTheFormOfTheTemplate) {
  ServedModel model =
      MarkedModel({},
                  "{{ messages[0].tool_calls[0].function.arguments is string }},{{ messages[0].thought }},"
                  "{{ messages[0].reasoning_content }}");
  json::array messages = json::parse(R"([{"role": "assistant", "content": "", "reasoning_content": "why",
      "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}])")
                             .as_array();
  EXPECT_EQ(Rendered(model, {.messages = messages}), "False,,why");
  model.tool_calls = std::make_shared<const text::ToolCallDialect>(
      text::ToolCallDialect{.calls = {.syntax = &text::HermesSyntax(), .text_arguments = true}, .tokens = {}});
  model.reasoning = Thinks("thought");
  EXPECT_EQ(Rendered(model, {.messages = messages}), "True,why,");
}

TEST(ChatPromptTest, WhatATemplateRefusesIsSaid) {
  const auto none = RenderChat(MarkedModel(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, GenerationError::Kind::kNoChatTemplate);
  EXPECT_EQ(none.error().message, "the model 'm' has no chat template");
  const auto raised = RenderChat(MarkedModel({}, "{{ raise_exception('only poems') }}"), {});
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().kind, GenerationError::Kind::kTemplate);
  EXPECT_THAT(raised.error().message,
              ::testing::StartsWith("the model's chat template does not take these messages: "));
  EXPECT_THAT(raised.error().message, ::testing::HasSubstr("only poems"));
  EXPECT_FALSE(ChatPrompt(MarkedModel(), {}));
}

TEST(ChatPromptTest, ATextThatCannotFitIsRefusedBeforeItIsTokenised) {
  ServedModel model = MarkedModel({}, "{{ messages[0].content }}x");
  model.info.context = 20;
  const uint64_t most = *model.tokenizer->MostBytes(20);
  EXPECT_EQ(Rendered(model, {.messages = SaidBy("user", std::string(most - 1, 'a'))}).size(), most);
  const auto refused = RenderChat(model, {.messages = SaidBy("user", std::string(most, 'a'))});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, GenerationError::Kind::kContextLength);
  EXPECT_EQ(refused.error().message, "the prompt has " + std::to_string(most + 1) +
                                         " bytes, and the context of 20 tokens holds no text of more than " +
                                         std::to_string(most) + " bytes");
  model.info.context = 1;
  EXPECT_FALSE(RenderChat(model, {.messages = SaidBy("user", std::string(5000, 'a'))}));
  model.info.context = 0;
  EXPECT_TRUE(RenderChat(model, {.messages = SaidBy("user", std::string(5000, 'a'))}));
}

TEST(ChatPromptTest, AModelsRecipeSpeaksFirst) {
  ServedModel model = MarkedModel({}, "{% for m in messages %}{{ m.content }};{% endfor %}");
  model.recipe = std::make_shared<const ModelRecipe>(ModelRecipe{.from = "a", .system = "S"});
  EXPECT_EQ(Rendered(model, {.messages = SaidBy("user", "hi")}), "S;hi;");
}

TEST(ChatPromptTest, TextOfARequestNeverBecomesAControlToken) {
  const ServedModel model = MarkedModel({}, "</s>{{ messages[0].content }}");
  std::vector<TokenId> expected = {kMarkedEnd};
  for (const TokenId byte : BytesOf("</s>")) expected.push_back(byte);
  EXPECT_EQ(ChatPrompt(model, {.messages = SaidBy("user", "</s>")}).value(), expected);
}

TEST(ChatPromptTest, ServersVariablesAreTheirs) {
  for (const char* name : {"messages", "tools", "add_generation_prompt", "documents", "bos_token", "eos_token",
                           "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    EXPECT_TRUE(IsServersVariable(name)) << name;
  }
  for (const char* name : {"", "message", "enable_thinking", "tokens"}) EXPECT_FALSE(IsServersVariable(name)) << name;
}

}  // namespace
}  // namespace inferflux::serving
