// What a template needs of past calls, found by rendering: each need by itself, all of them, and formats that a
// template only names.
#include <gtest/gtest.h>

#include <string>

#include "text/tool_calls/template_calls.h"

namespace inferflux::text {
namespace {

std::string WayOf(const std::string& source) {
  const auto compiled = ChatTemplate::Compile(source);
  EXPECT_TRUE(compiled) << source;
  if (!compiled) return "wrong";
  const auto found = FindTemplateCalls(*compiled);
  if (!found) return "none";
  return std::string(found->syntax->id) + (found->several ? ", several" : "") + (found->null_content ? ", null" : "") +
         (found->text_arguments ? ", text" : "") + (found->short_ids ? ", short ids" : "") +
         (found->joint_results ? ", joint results" : "");
}

constexpr const char* kObject = "{{ c.function.arguments|tojson }}";

// A conversation in which each call is between Hermes' tags. `check` comes before the calls of a message.
std::string Hermes(const std::string& check, const std::string& arguments = kObject, const std::string& behind = "") {
  return "{% for m in messages %}{{ m.role }}: {% if m.tool_calls %}" + check +
         "{% for c in m.tool_calls %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": " + arguments +
         "}\n</tool_call>\n{% endfor %}" + behind +
         "{% else %}{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
}

std::string Unless(const std::string& condition) {
  return "{% if not (" + condition + ") %}{{ raise_exception('refused') }}{% endif %}";
}

TEST(TemplateWays, EachNeedOfATemplateIsFound) {
  const std::string null = Unless("m.content is none"), text = Unless("m.tool_calls[0].function.arguments is string");
  const std::string ids = Unless("m.tool_calls[0].id|length == 9");
  const std::string plain = "{{ c.function.arguments }}";
  EXPECT_EQ(WayOf(Hermes("")), "hermes, several");
  EXPECT_EQ(WayOf(Hermes(Unless("m.content == ''"))), "hermes, several");
  EXPECT_EQ(WayOf(Hermes(Unless("m.tool_calls|length == 1"))), "hermes");
  EXPECT_EQ(WayOf(Hermes(null)), "hermes, several, null");
  EXPECT_EQ(WayOf(Hermes(text, plain)), "hermes, several, text");
  EXPECT_EQ(WayOf(Hermes(ids)), "hermes, several, short ids");
  EXPECT_EQ(WayOf(Hermes(null + ids)), "hermes, several, null, short ids");
  EXPECT_EQ(WayOf(Hermes(text + ids, plain)), "hermes, several, text, short ids");
  EXPECT_EQ(WayOf(Hermes(text + null, plain)), "hermes, several, null, text");
  EXPECT_EQ(WayOf(Hermes(text + null + ids, plain)), "hermes, several, null, text, short ids");
  EXPECT_EQ(WayOf(Hermes("", plain)), "hermes, several, text") << "an object would not be JSON";
  EXPECT_EQ(WayOf(Hermes(Unless("false"))), "none");
  EXPECT_EQ(WayOf(Hermes("") + Unless("not add_generation_prompt")), "none");
}

TEST(TemplateWays, ResultsAreJoinedWhereTheyAreShown) {
  const std::string shown = "{% for r in m.tool_responses or [] %}{{ r.response }}{% endfor %}";
  EXPECT_EQ(WayOf(Hermes("", kObject, shown)), "hermes, several, joint results");
  EXPECT_EQ(WayOf(Hermes("", kObject, "{{ m.tool_responses|length }}")), "hermes, several");
  EXPECT_EQ(WayOf(Hermes(Unless("m.content is none"), kObject, shown)), "hermes, several, null, joint results");
}

TEST(TemplateWays, ACallMustComeBackAsItWas) {
  EXPECT_EQ(WayOf(Hermes("", "{\"word\": \"heron\", \"pages\": 3}")), "hermes") << "the second has others";
  EXPECT_EQ(WayOf(Hermes("", "{\"word\": \"heron\", \"pages\": 4}")), "none");
  EXPECT_EQ(WayOf(Hermes("", "{\"word\": \"heron\"}")), "none");
  const std::string calls = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}";
  const std::string end = "{% endfor %}{% endfor %}";
  const std::string object = "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}";
  EXPECT_EQ(WayOf(calls + "<tool_call>" + object + "</tool_call>" + end), "hermes, several");
  EXPECT_EQ(WayOf(calls + "<tool_call>" + object + " so" + end), "none") << "not closed";
  EXPECT_EQ(WayOf(calls + "<tool_call>" + object + "</tool_call>" + "<tool_call>" + object + "</tool_call>" + end),
            "none")
      << "twice";
  EXPECT_EQ(WayOf(calls + "<tool_call>{\"name\": \"look\", \"arguments\": {{ c.function.arguments|tojson }}}" +
                  "</tool_call>" + end),
            "none");
  const std::string example =
      R"(<tool_call>{"name": "look_up", "arguments": {"word": "stork", "pages": 4}}</tool_call>)";
  EXPECT_EQ(WayOf("Write " + example + ". " + calls + "<tool_call>" + object + "</tool_call>" + end), "hermes, several")
      << "what is before the question is no answer";
}

// A bare call is the whole answer: from where the prompt ends.
TEST(TemplateWays, ABareCallBeginsTheAnswer) {
  const auto bare = [](const std::string& before, const std::string& between) {
    return "{% for m in messages %}[{{ m.role }}]{% if m.tool_calls %}" + before +
           "{% for c in m.tool_calls %}{% if not loop.first %}" + between +
           "{% endif %}{\"name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments|tojson }}}"
           "{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
           "{% if add_generation_prompt %}[assistant]{% endif %}";
  };
  EXPECT_EQ(WayOf(bare("", "; ")), "llama 3, several");
  EXPECT_EQ(WayOf(bare("", " and ")), "llama 3");
  EXPECT_EQ(WayOf(bare("Well: ", "; ")), "none");
  EXPECT_EQ(WayOf(bare("<|python_tag|>", "; ")), "llama 3, several");
}

TEST(TemplateWays, AFormatThatIsOnlyNamedCountsIfItIsTheOnlyOne) {
  const std::string chat = "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(WayOf("Call with <|tool_call|>." + chat), "granite 3, several") << "its calls are a list";
  EXPECT_EQ(WayOf("Call with <|function_call|>." + chat), "gigachat 3.1");
  EXPECT_EQ(WayOf("Call with <|function_call|> or <|tool_call|>." + chat), "none");
  EXPECT_EQ(WayOf("Call with <|function_call|>." + chat + "{{ messages|tojson }}"), "none")
      << "it shows calls, but in an unknown form";
  EXPECT_EQ(WayOf("{{ tools[0].function.name }}" + chat), "none");
  EXPECT_EQ(WayOf("Call with <|function_call|>." + chat + "{% if messages|length > 1 %}{{ raise_exception('no') }}" +
                  "{% endif %}"),
            "none");
}

}  // namespace
}  // namespace inferflux::text
