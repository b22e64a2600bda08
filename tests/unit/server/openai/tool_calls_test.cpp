#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "server/fake_model.h"
#include "text/tool_calls/past_calls.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Renders a call as Qwen's template does.
constexpr const char* kHermes =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>\n{\"name\": "
    "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% "
    "endfor %}>";

constexpr const char* kLlama =
    "{% for m in messages %}{{ m.role }}:{% if m.tool_calls %}{% if m.tool_calls|length > 1 %}{{ raise_exception('one "
    "call at a time') }}{% endif %}{\"name\": \"{{ m.tool_calls[0].function.name }}\", \"parameters\": {{ "
    "m.tool_calls[0].function.arguments | tojson }}}{% else %}{{ m.content }}{% endif %}\n{% endfor %}{% if "
    "add_generation_prompt %}assistant:{% endif %}";
constexpr const char* kMistral =
    "{% for m in messages %}{{ m.role }}:{% if m.tool_calls %}[TOOL_CALLS][{% for c in m.tool_calls %}{% if "
    "c.id|length "
    "!= 9 %}{{ raise_exception('ids have 9 characters') }}{% endif %}{\"name\": \"{{ c.function.name }}\", "
    "\"arguments\": {{ c.function.arguments | tojson }}, \"id\": \"{{ c.id }}\"}{% if not loop.last %}, {% endif %}{% "
    "endfor %}]{% else %}{{ m.tool_call_id }}{{ m.content }}{% endif %}\n{% endfor %}";
constexpr const char* kTagged =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ "
    "c.function.name "
    "}}{% for k, v in c.function.arguments|items %}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value>{% endfor %}"
    "</tool_call>{% endfor %}{% endfor %}";

std::function<void(serving::ServedModel&)> WithTemplate(const char* source) {
  return [source](serving::ServedModel& model) {
    auto compiled = text::ChatTemplate::Compile(source);
    ASSERT_TRUE(compiled) << compiled.error().message;
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  };
}

// Outputs `text`, one byte at a time.
FakeScheduler::Script Spell(std::string text) {
  return [text = std::move(text)](const GenerationRequest&, TokenStream& stream) {
    for (const char c : text) stream.Push(Piece(std::string(1, c)));
    stream.Push(End(FinishReason::kStop, 1, 1));
  };
}

std::string Ask(FakeServer& fake, const std::string& fields) {
  const auto answer = fake.PostJson(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","strict":)" +
          fields + "}");
  const auto* error = answer.as_object().if_contains("error");
  if (error == nullptr) return "ok";
  return std::string(error->at("param").as_string()) + ": " + std::string(error->at("message").as_string());
}

TEST(ToolCallsTest, WhatNeedsTheFormIsRefusedWhereTheModelHasAnother) {
  const auto say = [](const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); };
  FakeServer other(say);
  FakeServer hermes(say, {}, WithTemplate(kHermes));
  FakeServer tagged(say, {}, WithTemplate(kTagged));
  for (const auto& [fields, param] :
       {std::pair{R"(false}}],"tool_choice":"required")", "tool_choice"},
        {R"(false}}],"tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice"},
        {R"(false}}],"parallel_tool_calls":false)", "parallel_tool_calls"},
        {R"(true}}])", "tools[0].function.strict"}}) {
    EXPECT_THAT(Ask(other, fields), StartsWith(std::string(param) + ": ")) << fields;
    EXPECT_THAT(Ask(other, fields), HasSubstr("the template of 'fake' shows no known syntax")) << fields;
    EXPECT_EQ(Ask(tagged, fields), "ok") << fields;
    EXPECT_EQ(Ask(hermes, fields), "ok") << fields;
    EXPECT_NE(hermes.scheduler->requests().back().grammar, nullptr) << fields;
  }
  for (const char* fields : {R"(false}}])", R"(true}}],"tool_choice":"none")"}) {
    EXPECT_EQ(Ask(other, fields), "ok") << fields;
    EXPECT_EQ(other.scheduler->requests().back().grammar, nullptr) << fields;
  }
  EXPECT_THAT(Ask(hermes, R"(true,"parameters":{"properties":{"a":{"unevaluatedItems":false}}}}}])"),
              StartsWith("tools: 'tools' cannot be used: the parameters of 'f': at #/properties/a/unevaluatedItems"));
}

TEST(ToolCallsTest, CallsAreFoundInTheFormThatTheTemplateShows) {
  constexpr const char* kBody =
      R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}]})";
  for (const auto& [source, text] :
       {std::pair{kLlama, R"({"name": "f", "parameters": {"x": 1}})"},
        {kMistral, R"([TOOL_CALLS][{"name": "f", "arguments": {"x": 1}}])"},
        {kTagged, "<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>"}}) {
    FakeServer fake(Spell(text), {}, WithTemplate(source));
    const auto choice = fake.PostJson("/v1/chat/completions", kBody).at("choices").at(0);
    EXPECT_EQ(choice.at("finish_reason"), "tool_calls") << text;
    EXPECT_TRUE(choice.at("message").at("content").is_null()) << text;
    const auto& function = choice.at("message").at("tool_calls").at(0).at("function");
    EXPECT_EQ(function.at("name"), "f");
    EXPECT_EQ(function.at("arguments"), R"({"x":1})");
  }
}

// Control tokens that mark calls are part of the text if tools are offered, and only then.
TEST(ToolCallsTest, MarkersThatAreControlTokensReachTheParser) {
  TokenId marker = 0;
  FakeServer fake(Spell("Hello"), {}, [&](serving::ServedModel& model) {
    WithTemplate(kMistral)(model);
    text::VocabSpec vocab{.model = "gpt2", .pre_tokenizer = &model::FindPreTokenizer("gpt-2")->rules};
    for (int id = 0; id < 256; ++id) vocab.tokens.push_back(std::string(model.tokenizer->Text(id)));
    vocab.kinds.assign(256, text::TokenKind::kNormal);
    for (const char* name : {"[TOOL_CALLS]", "[INST]"}) {
      vocab.tokens.emplace_back(name);
      vocab.kinds.push_back(text::TokenKind::kControl);
    }
    marker = 256;
    model.tokenizer = *text::Tokenizer::Create(std::move(vocab), {});
    model.grammars = std::make_shared<text::GrammarCompiler>(model.tokenizer);
  });
  EXPECT_EQ(Ask(fake, "false}}]"), "ok");
  EXPECT_EQ(fake.scheduler->requests().back().shown_control, std::vector<TokenId>{marker});
  EXPECT_EQ(Ask(fake, R"(false}}],"tool_choice":"none")"), "ok");
  EXPECT_TRUE(fake.scheduler->requests().back().shown_control.empty());
}

// The calls that a client sends back are rendered by the template, or the template's error gives the reason.
TEST(ToolCallsTest, CallsThatComeBackAreRendered) {
  const auto history = [](int calls) {
    std::string list, results;
    for (int i = 0; i < calls; ++i) {
      const std::string id = "call_0123456789abcdef" + std::to_string(i);
      list +=
          (i > 0 ? "," : "") + (R"({"id":")" + id + R"(","type":"function","function":{"name":"f","arguments":"{}"}})");
      results += R"(,{"role":"tool","tool_call_id":")" + id + R"(","content":"done"})";
    }
    return R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[)" + list +
           "]}" + results + "]}";
  };
  FakeServer llama(Spell("Hello"), {}, WithTemplate(kLlama));
  EXPECT_EQ(llama.Post("/v1/chat/completions", history(1)).status, 200);
  const auto refused = llama.Post("/v1/chat/completions", history(2));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("one call at a time"));

  FakeServer mistral(Spell("Hello"), {}, WithTemplate(kMistral));
  EXPECT_EQ(mistral.Post("/v1/chat/completions", history(2)).status, 200);
  const std::vector<TokenId> prompt = mistral.scheduler->requests().back().prompt;
  const std::string text = ByteTokenizer()->Decode(prompt);
  const std::string first = text::ShortId("call_0123456789abcdef0"), second = text::ShortId("call_0123456789abcdef1");
  EXPECT_NE(first, second);
  EXPECT_THAT(text, HasSubstr(R"("id": ")" + first + "\"}"));
  EXPECT_THAT(text, HasSubstr("tool:" + second + "done"));
  EXPECT_EQ(text::ShortId(first), first);
}

}  // namespace
}  // namespace inferflux::testing
