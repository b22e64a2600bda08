#include "text/reasoning/template_reasoning.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "support/conformance.h"

namespace inferflux::text {
namespace {

namespace fs = std::filesystem;

std::string Described(const std::optional<TemplateReasoning>& found) {
  if (!found) return "";
  const std::string key = found->key == "reasoning_content" ? "" : ", as " + std::string(found->key);
  return std::string(found->form->id) + key;
}

// The form in which each published template reasons. The other models do not reason, or their templates do not show it.
TEST(TemplateReasoningTest, TheTemplateShowsTheForm) {
  INFERFLUX_REQUIRE_CONFORMANCE("chat_templates");
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::directory_iterator(inferflux::testing::ConformanceDir() / "chat_templates")) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path());
    const std::string source(std::istreambuf_iterator<char>(file), {});
    const auto compiled = ChatTemplate::Compile(source);
    ASSERT_TRUE(compiled) << entry.path();
    const std::string form = Described(FindTemplateReasoning(*compiled));
    if (!form.empty()) found[entry.path().stem()] = form;
  }
  const std::map<std::string, std::string> expected = {
      {"Apriel-1.6-15b-Thinker-fixed", "apriel"},
      {"ByteDance-Seed-OSS", "seed"},
      {"Cohere2MoE", "command"},
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "command"},
      {"GLM-4.6", "think"},
      {"Kimi-K2-Thinking", "think"},
      {"LFM2.5-8B-A1B", "think, as thinking"},
      {"LFM2.5-Instruct", "think"},
      {"MiniMax-M2", "think"},
      {"MiniMax-M3", "minimax 3"},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "think"},
      {"NVIDIA-Nemotron-Nano-v2", "think"},
      {"Qwen-QwQ-32B", "think"},
      {"Qwen-Qwen3-0.6B", "think"},
      {"Reka-Edge", "think"},
      {"StepFun3.5-Flash", "think"},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "think"},
      {"deepseek-ai-DeepSeek-V3.1", "think"},
      {"deepseek-ai-DeepSeek-V4", "think"},
      {"deepseek-ai-DeepSeek-V4-Flash-0731", "think"},
      {"google-gemma-4-31B-it-interleaved", "gemma 4"},
      {"llama-cpp-deepseek-r1", "think"},
      {"llama-cpp-rwkv-world", "think"},
      {"openbmb-MiniCPM5-1B", "think"},
      {"poolside-Laguna-S-2.1", "think"},
      {"poolside-Laguna-XS.2", "think"},
      {"upstage-Solar-Open-100B", "solar, as reasoning"},
  };
  EXPECT_EQ(found, expected);
}

Result<std::vector<TextSpan>> Rendered(const ChatTemplate& chat_template, std::optional<bool> enabled) {
  boost::json::object context =
      boost::json::parse(R"({"messages":[{"role":"user","content":"<think>"}],"add_generation_prompt":true})")
          .as_object();
  if (enabled) SetReasoning(*enabled, context);
  return chat_template.Render(context);
}

TEST(TemplateReasoningTest, OnlyTheTemplateItselfOpensReasoning) {
  const auto opens =
      ChatTemplate::Compile("{{ messages[0].content }}>{% if enable_thinking != false %}<think>\n{% endif %}");
  const auto found = FindTemplateReasoning(*opens);
  ASSERT_TRUE(found);
  EXPECT_TRUE(BeginsInside(*found->form, *Rendered(*opens, true)));
  EXPECT_TRUE(BeginsInside(*found->form, *Rendered(*opens, std::nullopt)));
  EXPECT_FALSE(BeginsInside(*found->form, *Rendered(*opens, false)));
  const auto echoes = ChatTemplate::Compile("{{ messages[0].content }}");
  EXPECT_FALSE(BeginsInside(*found->form, *Rendered(*echoes, std::nullopt))) << "the text of a request opens nothing";
  EXPECT_FALSE(FindTemplateReasoning(*echoes));
}

TEST(TemplateReasoningTest, PastReasoningGoesWhereTheTemplateReadsIt) {
  const auto compiled = ChatTemplate::Compile(
      "{% for m in messages %}{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}{% endfor "
      "%}");
  const auto found = FindTemplateReasoning(*compiled);
  ASSERT_TRUE(found);
  auto messages = boost::json::parse(R"([{"role":"assistant","content":"a","reasoning_content":"r"}])").as_array();
  AdaptPastReasoning(*found, messages);
  EXPECT_EQ(boost::json::value(messages), boost::json::parse(R"([{"role":"assistant","content":"a","thinking":"r"}])"));
}

}  // namespace
}  // namespace inferflux::text
