#include "server/tool_call_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "server/fake_model.h"
#include "support/conformance.h"

namespace inferflux::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// Of the templates from the field those that write calls as Hermes and Qwen do. The others have tags of their own
// inside of <tool_call> (GLM, Qwen3-Coder), other marks around it (Mistral, DeepSeek, Kimi), or a bare object (Llama).
TEST(ToolCallFormTest, TheTemplateShowsTheForm) {
  INFERFLUX_REQUIRE_CONFORMANCE("chat_templates");
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(inferflux::testing::ConformanceDir() / "chat_templates")) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path());
    const std::string source(std::istreambuf_iterator<char>(file), {});
    const auto compiled = text::ChatTemplate::Compile(source);
    ASSERT_TRUE(compiled) << entry.path();
    if (RendersToolCalls(*compiled)) found.insert(entry.path().stem());
  }
  EXPECT_THAT(found, ElementsAre("NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "Qwen-QwQ-32B", "Qwen-Qwen3-0.6B",
                                 "Reka-Edge", "ibm-granite-granite-4.0"));
}

}  // namespace
}  // namespace inferflux::server

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Renders a call as Qwen's template does.
constexpr const char* kHermes =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>\n{\"name\": "
    "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% "
    "endfor %}>";

std::string Ask(FakeServer& fake, const std::string& fields) {
  const auto answer = fake.PostJson(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","strict":)" +
          fields + "}");
  const auto* error = answer.as_object().if_contains("error");
  if (error == nullptr) return "ok";
  return std::string(error->at("param").as_string()) + ": " + std::string(error->at("message").as_string());
}

TEST(ToolCallFormTest, WhatNeedsTheFormIsRefusedWhereTheModelHasAnother) {
  const auto say = [](const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); };
  FakeServer other(say);
  FakeServer hermes(say, {}, [](routing::ServedModel& model) {
    model.chat_template = std::make_shared<const text::ChatTemplate>(*text::ChatTemplate::Compile(kHermes));
  });
  for (const auto& [fields, param] :
       {std::pair{R"(false}}],"tool_choice":"required")", "tool_choice"},
        {R"(false}}],"tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice"},
        {R"(false}}],"parallel_tool_calls":false)", "parallel_tool_calls"},
        {R"(true}}])", "tools[0].function.strict"}}) {
    EXPECT_THAT(Ask(other, fields), StartsWith(std::string(param) + ": ")) << fields;
    EXPECT_THAT(Ask(other, fields), HasSubstr("the model 'fake' writes them otherwise")) << fields;
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

}  // namespace
}  // namespace inferflux::testing
