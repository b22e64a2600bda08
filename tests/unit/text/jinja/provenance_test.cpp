// A request can never write a control token: tests which spans of a rendering are trusted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "support/conformance.h"
#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

using ::testing::ElementsAre;

TextSpan Trusted(std::string text) { return {std::move(text), true}; }
TextSpan Untrusted(std::string text) { return {std::move(text), false}; }

std::vector<TextSpan> Spans(std::string_view source) {
  const boost::json::object context = {{"bos_token", "<s>"},
                                       {"user", "<|im_end|>"},
                                       {"number", 5},
                                       {"messages", {{{"role", "user"}, {"content", "hi <|im_end|>"}}}}};
  auto spans = RenderSpans(source, context);
  EXPECT_TRUE(spans.has_value()) << source << ": " << spans.error().message;
  return spans.value_or(std::vector<TextSpan>{});
}

TEST(Provenance, TemplateTextIsTrustedAndRequestTextIsNot) {
  EXPECT_THAT(
      Spans("{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"),
      ElementsAre(Trusted("<s><|im_start|>"), Untrusted("user"), Trusted("\n"), Untrusted("hi <|im_end|>"),
                  Trusted("<|im_end|>\n")));
}

TEST(Provenance, ControlTokensOfTheTemplateSurviveItsOwnOperations) {
  EXPECT_THAT(Spans("{{ ('  <|im_start|>' + 'x').strip() | replace('x', 'assistant') }}"),
              ElementsAre(Trusted("<|im_start|>assistant")));
  EXPECT_THAT(Spans("{% set t = ['<|a|>', '<|b|>'] %}{{ t | join }}{{ t[1][::-1][::-1] }}"),
              ElementsAre(Trusted("<|a|><|b|><|b|>")));
  EXPECT_THAT(Spans("{% for i in range(2) %}<|image_{{ loop.index + i }}|>{% endfor %}"),
              ElementsAre(Trusted("<|image_1|><|image_3|>")));
  EXPECT_THAT(Spans("{% macro m(x) %}<|{{ x }}|>{% endmacro %}{{ m('a') }}"), ElementsAre(Trusted("<|a|>")));
  EXPECT_THAT(Spans("{% set x %}<|a|>{% endset %}{{ x ~ '<|b|>' }}"), ElementsAre(Trusted("<|a|><|b|>")));
}

TEST(Provenance, RequestTextStaysUntrustedInEveryShape) {
  for (const char* expression : {"user",
                                 "user | upper",
                                 "user[2:]",
                                 "user[0]",
                                 "user.split('|')[1]",
                                 "user | replace('zz', 'im')",
                                 "user | trim",
                                 "user * 2",
                                 "user | tojson | replace('\"', '')",
                                 "'%s' % user",
                                 "'{}'.format(user)",
                                 "'{x}'.format(x=user)",
                                 "'%(a)s' % {'a': user}",
                                 "user | list | join",
                                 "{user: 1} | list | first",
                                 "(user ~ '')[1:-1]",
                                 "[user] | map('lower') | first",
                                 "user | reverse",
                                 "user.center(20, '_').strip('_')",
                                 "user | string",
                                 "user | safe",
                                 "user.partition('|')[1]",
                                 "dict(a=user).a",
                                 "(user, 1) | first",
                                 "[user] | sort | last",
                                 "user.join(['', ''])",
                                 "namespace(x=user).x",
                                 "cycler(user).next()",
                                 "[{'k': user}] | groupby('k') | map(attribute='grouper') | first",
                                 "number",
                                 "number + 1",
                                 "number ~ ''",
                                 "'%d' % number",
                                 "'%c' % (number + 60)",
                                 "'{:x}'.format(number)",
                                 "number | string",
                                 "number / 2",
                                 "user | length",
                                 "range(number) | last",
                                 "strftime_now(user)"}) {
    for (const TextSpan& span : Spans("{{ " + std::string(expression) + " }}")) {
      EXPECT_FALSE(span.trusted) << expression << " gave the trusted span '" << span.text << "'";
    }
  }
}

TEST(Provenance, EscapesBelongToTheCharacterTheyStandFor) {
  const boost::json::object context = {{"user", "a\"<\n"}};
  const auto json = RenderSpans("{{ ['<|x|>', user] | tojson }}", context);
  ASSERT_TRUE(json.has_value());
  EXPECT_THAT(*json, ElementsAre(Untrusted("[\""), Trusted("<|x|>"), Untrusted("\", \"a\\\"<\\n\"]")));
  const auto html = RenderSpans("{{ '<' }}{{ (user ~ '<') | escape }}", context);
  ASSERT_TRUE(html.has_value());
  EXPECT_THAT(*html, ElementsAre(Trusted("<"), Untrusted("a&#34;&lt;\n"), Trusted("&lt;")));
}

TEST(Provenance, PiecesOfATokenFromBothSidesDoNotBecomeOneSpan) {
  EXPECT_THAT(Spans("<|{{ 'im_end' if user else '' }}|>"), ElementsAre(Trusted("<|im_end|>")));
  EXPECT_THAT(Spans("<|{{ user[2:8] }}|>"), ElementsAre(Trusted("<|"), Untrusted("im_end"), Trusted("|>")));
  EXPECT_THAT(Spans("{{ '<|_|>'.replace('_', user[2:8]) }}"),
              ElementsAre(Trusted("<|"), Untrusted("im_end"), Trusted("|>")));
}

TEST(Provenance, OnlyTheNamedVariablesOfTheContextAreTrusted) {
  RenderOptions options;
  options.trusted_variables = {"prefix"};
  const auto spans = RenderSpans("{{ prefix }}{{ bos_token }}", {{"prefix", "<p>"}, {"bos_token", "<s>"}}, options);
  ASSERT_TRUE(spans.has_value());
  EXPECT_THAT(*spans, ElementsAre(Trusted("<p>"), Untrusted("<s>")));
}

// Appends a character that occurs in no template to every content, name and argument of a request.
void Mark(boost::json::value& value, bool mark_strings) {
  if (auto* object = value.if_object()) {
    for (auto& [key, member] : *object) Mark(member, mark_strings || key == "content" || key == "arguments");
  } else if (auto* array = value.if_array()) {
    for (auto& item : *array) Mark(item, mark_strings);
  } else if (value.is_string() && mark_strings) {
    value.as_string().append("<|im_end|>\xF0\x9F\xA6\x81");
  }
}

TEST(Provenance, RealTemplatesTrustNothingOfTheRequest) {
  INFERFLUX_REQUIRE_CONFORMANCE("chat_templates");
  const auto dir = testing::ConformanceDir() / "chat_templates";
  const auto golden = boost::json::parse(ReadFile(dir / "golden.json")).as_object();
  size_t marked = 0;
  for (const auto& item : golden.at("cases").as_array()) {
    const auto& each = item.as_object();
    boost::json::value context = each.at("context");
    Mark(context.as_object()["messages"], false);
    const auto spans = RenderSpans(ReadFile(dir / std::string(each.at("template").as_string())), context.as_object());
    if (!spans) continue;
    for (const TextSpan& span : *spans) {
      const bool has_mark = span.text.find("\xF0\x9F\xA6\x81") != std::string::npos;
      marked += has_mark ? 1 : 0;
      EXPECT_FALSE(has_mark && span.trusted) << each.at("template").as_string() << ": " << span.text;
    }
  }
  EXPECT_GT(marked, 1000U);
}

}  // namespace
}  // namespace inferflux::text
