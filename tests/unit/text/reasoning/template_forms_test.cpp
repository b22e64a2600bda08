// How a template shows its form of reasoning: in past answers, in the prompt, or in what it cuts out.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "text/reasoning/reasoning_dialect.h"
#include "text/reasoning/template_reasoning.h"
#include "text/tokenizer/vocab_builders.h"

namespace inferflux::text {
namespace {

namespace json = boost::json;

std::string FormOf(const std::string& source) {
  const auto compiled = ChatTemplate::Compile(source);
  EXPECT_TRUE(compiled) << source;
  if (!compiled) return "wrong";
  const auto found = FindTemplateReasoning(*compiled);
  return found ? std::string(found->form->id) + ", " + std::string(found->key) : "none";
}

std::string EachMessage(const std::string& shown) {
  return "{% for m in messages %}{{ m.role }}: " + shown + "{% endfor %}";
}

TEST(TemplateForms, EachFormIsFoundAroundPastReasoning) {
  for (const ReasoningForm& form : ReasoningForms()) {
    const std::string shown = "{% if m.reasoning_content %}" + std::string(form.opens) + "{{ m.reasoning_content }}" +
                              std::string(form.closes) + "{% endif %}{{ m.content }}";
    EXPECT_EQ(FormOf(EachMessage(shown)), std::string(form.id) + ", reasoning_content");
  }
}

TEST(TemplateForms, ReasoningIsReadFromAnyOfThreeMembers) {
  for (const std::string key : {"reasoning_content", "thinking", "reasoning"}) {
    const std::string shown = "<think>\n{{ m." + key + " }}\n</think>";
    EXPECT_EQ(FormOf(EachMessage("{% if m." + key + " %}" + shown + "{% endif %}{{ m.content }}")), "think, " + key);
    EXPECT_EQ(FormOf(EachMessage("{% if m.tool_calls %}" + shown + "{% endif %}{{ m.content }}")), "think, " + key)
        << "only beside a call";
    EXPECT_EQ(FormOf(EachMessage("{% if enable_thinking and m." + key + " %}" + shown + "{% endif %}")),
              "think, " + key);
  }
  EXPECT_EQ(FormOf(EachMessage("<think>so: {{ m.reasoning_content }}</think>{{ m.content }}")), "none");
  EXPECT_EQ(FormOf(EachMessage("<think>{{ m.reasoning_content }} so</think>{{ m.content }}")), "none");
  EXPECT_EQ(FormOf(EachMessage("<think>{{ m.reasoning_content }}</thinking>{{ m.content }}")), "none");
}

TEST(TemplateForms, APromptOpensOrClosesTheReasoning) {
  const auto prompt = [](const std::string& end) {
    return FormOf(EachMessage("{{ m.content }}") + "{% if add_generation_prompt %}assistant: " + end + "{% endif %}");
  };
  EXPECT_EQ(prompt("<think>\n"), "think, reasoning_content");
  EXPECT_EQ(prompt("<|channel>thought\n\n"), "gemma 4, reasoning_content");
  EXPECT_EQ(prompt("{% if not enable_thinking is defined %}[THINK]{% endif %}"), "magistral, reasoning_content");
  EXPECT_EQ(prompt("{% if thinking_mode == 'disabled' %}<mm:think></mm:think>{% endif %}"),
            "minimax 3, reasoning_content");
  EXPECT_EQ(prompt("{% if thinking_budget == 0 %}<seed:think>\n0</seed:think>\n{% endif %}"),
            "seed, reasoning_content");
  EXPECT_EQ(prompt("{% if thinking %}<thinking>{% endif %}"), "thinking, reasoning_content");
  EXPECT_EQ(prompt("{% if thinking %}{{ raise_exception('no') }}{% endif %}<think>"), "think, reasoning_content");
  EXPECT_EQ(prompt("<think> so"), "none");
  EXPECT_EQ(prompt(""), "none");
}

TEST(TemplateForms, ATemplateCutsReasoningOutOfPastAnswers) {
  const std::string cut = "{{ m.content.split('</think>')[-1] }}";
  EXPECT_EQ(FormOf(EachMessage(cut)), "think, reasoning_content");
  EXPECT_EQ(FormOf(EachMessage("{{ m.content.split('[/THINK]')[-1] }}")), "magistral, reasoning_content");
  EXPECT_EQ(
      FormOf(EachMessage("{% if loop.index < messages|length - 1 %}" + cut + "{% else %}{{ m.content }}{% endif %}")),
      "think, reasoning_content")
      << "the last answer is whole";
  EXPECT_EQ(FormOf(EachMessage("{% if m.role == 'user' %}{{ m.content }}{% endif %}")), "none") << "no answers at all";
  EXPECT_EQ(FormOf(EachMessage("{% if m.role == 'user' %}{{ m.content }}{% else %}{{ m.content[:3] }}{% endif %}")),
            "none");
}

// Some templates refuse a conversation that does not begin with a question, or in which roles do not alternate.
TEST(TemplateForms, AStrictTemplateIsAskedInItsOrder) {
  const std::string strict =
      "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}";
  EXPECT_EQ(FormOf(strict + EachMessage("<think>{{ m.reasoning_content }}</think>{{ m.content }}")),
            "think, reasoning_content");
  EXPECT_EQ(FormOf(strict + EachMessage("{{ m.content }}") + "{% if add_generation_prompt %}<think>\n{% endif %}"),
            "think, reasoning_content");
  EXPECT_EQ(FormOf(strict + EachMessage("{{ m.content.split('[/THINK]')[-1] }}")), "magistral, reasoning_content");
  const std::string question = "{% if messages[-1].role != 'user' %}{{ raise_exception('no question') }}{% endif %}";
  EXPECT_EQ(FormOf(question + strict + EachMessage("{{ m.content.split('[/THINK]')[-1] }}")),
            "magistral, reasoning_content");
  const std::string one_cut =
      "{% for m in messages %}{{ m.content.split('[/THINK]')[-1] if loop.revindex > 2 else m.content }}{% endfor %}";
  EXPECT_EQ(FormOf(one_cut), "magistral, reasoning_content") << "the last answer stays whole";
}

TEST(TemplateForms, ReasoningIsSwitchedByEachKnownVariable) {
  json::object on, off;
  SetReasoning(true, on);
  SetReasoning(false, off);
  EXPECT_EQ(json::serialize(on), R"({"enable_thinking":true,"thinking":true,"thinking_mode":"enabled"})");
  EXPECT_EQ(json::serialize(off),
            R"({"enable_thinking":false,"thinking":false,"thinking_mode":"disabled","thinking_budget":0})");
}

TEST(TemplateForms, PastReasoningMovesInEachMessageThatHasSome) {
  const char* messages = R"([{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"r"},)"
                         R"({"role":"assistant","content":"b","reasoning_content":["s"]}])";
  const auto adapted = [&](std::string_view key) {
    json::array list = json::parse(messages).as_array();
    AdaptPastReasoning({.key = key}, list);
    return json::serialize(list);
  };
  EXPECT_EQ(adapted("reasoning_content"), messages);
  EXPECT_EQ(adapted("reasoning"),
            R"([{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning":"r"},)"
            R"({"role":"assistant","content":"b","reasoning":["s"]}])");
}

TEST(TemplateForms, APromptEndsInsideIfTrustedTextAtItsEndOpens) {
  const auto inside = [](const std::vector<TextSpan>& prompt, size_t form = 0) {
    return BeginsInside(ReasoningForms()[form], prompt);
  };
  const auto trusted = [](std::string text) { return TextSpan{.text = std::move(text), .trusted = true}; };
  const auto other = [](std::string text) { return TextSpan{.text = std::move(text), .trusted = false}; };
  EXPECT_TRUE(inside({other("Hi"), trusted("a: <think>\n\n")}));
  EXPECT_TRUE(inside({other("Hi"), trusted("<th"), trusted("in"), trusted("k>")}));
  EXPECT_TRUE(inside({trusted("<|channel>thought")}, 6)) << "the line end is left out";
  EXPECT_FALSE(inside({trusted("<|channel>thought")}));
  EXPECT_FALSE(inside({trusted("<think>"), other("Hi")}));
  EXPECT_FALSE(inside({trusted("<th"), other("ink>")}));
  EXPECT_FALSE(inside({other("<th"), trusted("ink>")}));
  EXPECT_FALSE(inside({other("<think>")}));
  EXPECT_FALSE(inside({}));
  EXPECT_TRUE(inside({trusted("<think>"), trusted(std::string(255, ' '))}));
  EXPECT_FALSE(inside({trusted("<think>"), trusted(std::string(256, ' '))}))
      << "the mark is beyond the 256 bytes that are searched";
}

std::shared_ptr<const ReasoningDialect> DialectOf(const std::string& source, const VocabSpec& spec) {
  return ReasoningDialectOf(*ChatTemplate::Compile(source), **Tokenizer::Create(spec, {}));
}

TEST(ReasoningDialects, HaveTheTokensOfTheirMarkers) {
  using Ids = std::vector<TokenId>;
  VocabSpec spec = testing::ByteLevelSpec({});
  for (const char* text : {"</think>", "<think>", "<|channel|>", "<|message|>", "<|end|>", "<|start|>"}) {
    testing::AddToken(spec, text, TokenKind::kControl);
  }
  spec.end_of_generation = {260};
  const auto think = DialectOf("{{ messages[0].content }}<think>", spec);
  ASSERT_TRUE(think);
  EXPECT_EQ(think->reasoning.form->id, "think");
  EXPECT_EQ(think->opening, Ids{257});
  EXPECT_EQ(think->closing.size(), 4u);
  EXPECT_EQ(think->closing[1], 256);
  EXPECT_EQ(think->shown, (Ids{257, 256}));

  const auto harmony = DialectOf("{{ messages[0].content }}<|channel|>analysis<|message|>", spec);
  ASSERT_TRUE(harmony);
  EXPECT_EQ(harmony->opening.front(), 258);
  EXPECT_EQ(harmony->opening.size(), 10u);
  EXPECT_EQ(harmony->opening.back(), 259);
  EXPECT_EQ(harmony->closing.size(), 19u) << "a line end, two markers, assistant, two markers around final";
  EXPECT_EQ(harmony->shown, (Ids{258, 259, 261})) << "each once, and not the token that ends a generation";
  EXPECT_FALSE(DialectOf("{{ messages[0].content }}", spec));

  const VocabSpec bytes = testing::ByteLevelSpec({});
  EXPECT_TRUE(DialectOf("{{ messages[0].content }}<think>", bytes)->shown.empty()) << "plain text is shown anyway";
}

TEST(ReasoningDialects, AClosingTextLeadsToTheAnswer) {
  std::vector<std::string> texts;
  for (const ReasoningForm& form : ReasoningForms()) texts.push_back(ClosingText(form));
  EXPECT_EQ(texts[0], "\n</think>\n\n");
  EXPECT_EQ(texts[8], "\n<|end|><|start|>assistant<|channel|>final<|message|>");
  EXPECT_EQ(texts[9], "\n<|end|><|begin|>assistant<|content|>");
}

}  // namespace
}  // namespace inferflux::text
