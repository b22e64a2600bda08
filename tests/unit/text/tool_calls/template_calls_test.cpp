#include "text/tool_calls/template_calls.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "support/conformance.h"
#include "text/tool_calls/past_calls.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::text {
namespace {

namespace fs = std::filesystem;

std::string Described(const std::optional<TemplateCalls>& calls) {
  if (!calls) return "";
  return std::string(calls->syntax->id) + (calls->several ? "" : ", one") + (calls->null_content ? ", null" : "") +
         (calls->text_arguments ? ", text" : "") + (calls->short_ids ? ", short ids" : "") +
         (calls->joint_results ? ", joint results" : "");
}

// The format in which each published template writes calls. The other templates omit calls, or have an unknown format:
// one with a recipient (Functionary).
TEST(TemplateCallsTest, TheTemplateShowsTheSyntax) {
  INFERFLUX_REQUIRE_CONFORMANCE("chat_templates");
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::directory_iterator(inferflux::testing::ConformanceDir() / "chat_templates")) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path());
    const std::string source(std::istreambuf_iterator<char>(file), {});
    const auto compiled = ChatTemplate::Compile(source);
    ASSERT_TRUE(compiled) << entry.path();
    const std::string syntax = Described(FindTemplateCalls(*compiled));
    if (!syntax.empty()) found[entry.path().stem()] = syntax;
  }
  const std::map<std::string, std::string> expected = {
      {"Apertus-8B-Instruct", "apertus"},
      {"Apriel-1.6-15b-Thinker-fixed", "apriel"},
      {"ByteDance-Seed-OSS", "seed"},
      {"Cohere2MoE", "command r7b"},
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "command r7b"},
      {"GLM-4.6", "glm"},
      {"GigaChat3-10B-A1.8B", "gigachat 3, one"},
      {"GigaChat3.1-10B-A1.8B", "gigachat 3.1, one"},
      {"Kimi-K2-Instruct", "kimi"},
      {"Kimi-K2-Thinking", "kimi"},
      {"LFM2.5-8B-A1B", "lfm"},
      {"MiniMax-M2", "minimax 2"},
      {"MiniMax-M3", "minimax 3"},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen coder"},
      {"NVIDIA-Nemotron-Nano-v2", "nemotron 2"},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes"},
      {"Qwen-QwQ-32B", "hermes"},
      {"Qwen-Qwen3-0.6B", "hermes"},
      {"Qwen3-Coder", "qwen coder"},
      {"Reka-Edge", "hermes"},
      {"StepFun3.5-Flash", "qwen coder"},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek 3"},
      {"deepseek-ai-DeepSeek-V3.1", "deepseek 3.1"},
      {"deepseek-ai-DeepSeek-V4", "deepseek 4"},
      {"deepseek-ai-DeepSeek-V4-Flash-0731", "deepseek 4"},
      {"google-gemma-4-31B-it-interleaved", "gemma 4, joint results"},
      {"ibm-granite-granite-3.3-2B-Instruct", "granite 3"},
      {"ibm-granite-granite-4.0", "hermes"},
      {"meta-llama-Llama-3.1-8B-Instruct", "llama 3, one"},
      {"meta-llama-Llama-3.3-70B-Instruct", "llama 3, one"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "mistral, short ids"},
      {"moonshotai-Kimi-K2", "kimi"},
      {"openbmb-MiniCPM5-1B", "minicpm 5"},
      {"poolside-Laguna-S-2.1", "glm"},
      {"poolside-Laguna-XS.2", "glm"},
      {"tencent-Hy3", "hunyuan 3"},
      {"unsloth-mistral-Devstral-Small-2507", "mistral, named"},
      {"upstage-Solar-Open-100B", "solar"},
  };
  EXPECT_EQ(found, expected);
}

// As in DeepSeek's own templates: a message with calls must have no content, and arguments are concatenated as text.
TEST(TemplateCallsTest, TheTemplateShowsHowItTakesCalls) {
  const auto compiled = ChatTemplate::Compile(
      "{% for m in messages %}{% if m.content is none %}<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}"
      "{{ '<｜tool▁call▁begin｜>' + c.type + '<｜tool▁sep｜>' + c.function.name + '\n```json\n' + "
      "c.function.arguments + '\n```<｜tool▁call▁end｜>' }}{% endfor %}<｜tool▁calls▁end｜>{% else %}{{ m.content }}"
      "{% endif %}{% endfor %}");
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto found = FindTemplateCalls(*compiled);
  EXPECT_EQ(Described(found), "deepseek 3, null, text");
  boost::json::array messages = {
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", {{{"id", "call_1"}, {"function", {{"name", "f"}, {"arguments", {{"a", 1}}}}}}}}}};
  AdaptPastCalls(*found, messages);
  const boost::json::object& message = messages[0].as_object();
  EXPECT_TRUE(message.at("content").is_null());
  EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("arguments"), R"({"a":1})");
  EXPECT_EQ(message.at("tool_calls").at(0).at("id"), "call_1");
}

TEST(TemplateCallsTest, ResultsStandWhereTheTemplateWantsThem) {
  const auto message = [](const char* text) { return boost::json::parse(text); };
  boost::json::array messages = {
      message(R"({"role":"tool","content":"no caller"})"),
      message(R"({"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":{}}},
                  {"id":"2","function":{"name":"g","arguments":{}}},{"id":"","function":{"name":"h","arguments":{}}}]})"),
      message(R"({"role":"tool","tool_call_id":"2","content":"{\"x\": [1]}"})"),
      message(R"({"role":"tool","tool_call_id":"1","content":"plain"})"),
      message(R"({"role":"tool","content":"[2]"})"),
      message(R"({"role":"user","content":"Thanks."})"),
      message(R"({"role":"assistant","content":"","tool_calls":[{"id":"3","function":{"name":"f","arguments":{}}}]})")};
  AdaptPastCalls({.syntax = &HermesSyntax(), .joint_results = true}, messages);
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].at("content"), "no caller");
  EXPECT_EQ(
      messages[1].at("tool_responses"),
      message(R"([{"name":"g","response":{"x":[1]}},{"name":"f","response":"plain"},{"name":"h","response":"[2]"}])"));
  EXPECT_EQ(messages[2].at("role"), "user");
  EXPECT_EQ(messages[3].at("tool_responses").as_array().size(), 0u);
}

// Llama 4 repeats a call behind the markers of what was said before it. Its answers may be bare, or begin with them.
TEST(TemplateCallsTest, ACallMayFollowTheMarkersOfAnEmptyText) {
  const auto compiled = ChatTemplate::Compile(
      "{% for m in messages %}<|header_start|>{{ m.role }}<|header_end|>\n\n"
      "{% if m.tool_calls %}<|python_start|>{{ m.content }}<|python_end|>{% for c in m.tool_calls %}"
      "{\"name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments | tojson }}}{% endfor %}"
      "{% else %}{{ m.content }}{% endif %}<|eot|>{% endfor %}"
      "{% if add_generation_prompt %}<|header_start|>assistant<|header_end|>\n\n{% endif %}");
  ASSERT_TRUE(compiled);
  const auto found = FindTemplateCalls(*compiled);
  ASSERT_EQ(Described(found), "llama 4");
  const auto tools = std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{.name = "f", .parameters = ""});
  for (const std::string opens : {"", "<|python_start|><|python_end|>"}) {
    ToolCallParser parser(*found->syntax, tools, {});
    auto out = parser.Feed(opens + R"({"name": "f", "parameters": {"a": 1}})");
    for (FoundToolCall& call : parser.Finish().calls) out.calls.push_back(std::move(call));
    ASSERT_EQ(out.calls.size(), 1u) << opens;
    EXPECT_EQ(boost::json::parse(out.calls[0].arguments), boost::json::parse(R"({"a":1})"));
    EXPECT_EQ(out.content, "");
  }
}

// Text about a marker is not a call. A format is not assumed if several markers match.
TEST(TemplateCallsTest, AFormThatDoesNotComeBackIsNotClaimed) {
  for (const char* source :
       {"{% for m in messages %}{{ m.content }}{% endfor %}",
        "Write <tool_call>.{% for m in messages %}{{ m.content }}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{\"name\": "
        "\"{{ c.function.name }}\"}</tool_call>{% endfor %}{% endfor %}",
        "{{ raise_exception('never') }}"}) {
    const auto compiled = ChatTemplate::Compile(source);
    ASSERT_TRUE(compiled) << source;
    EXPECT_EQ(Described(FindTemplateCalls(*compiled)), "") << source;
  }
}

}  // namespace
}  // namespace inferflux::text
