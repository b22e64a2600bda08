// Templates of many lines: where a part stands makes no difference to what it prints.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

TEST(TemplatePositions, EachPartMayStandFarDown) {
  const boost::json::object context = {{"x", {{"a", {{"b", 1}}}, {"l", {1, 2, 3, 4}}}}};
  const std::pair<const char*, const char*> parts[] = {
      {"{{ true }}{{ True }}{{ false }}{{ False }}", "TrueTrueFalseFalse"},
      {"{{ none }}{{ None }}", "NoneNone"},
      {"{{ 1 }} {{ 0x1F }} {{ 1.5 }} {{ 'a' 'b' }}", "1 31 1.5 ab"},
      {"{{ x.a.b }} {{ x['a']['b'] }} {{ x.l.0 }} {{ x.l[-1] }}", "1 1 1 4"},
      {"{{ x.l[1:] }} {{ x.l[:1] }} {{ x.l[::2] }} {{ x.l[1:3:1] }} {{ x.l[:] }}",
       "[2, 3, 4] [1] [1, 3] [2, 3] [1, 2, 3, 4]"},
      {"{{ {(1, 2): 3}[1, 2] }}", "3"},
      {"{{ [1, [2]] }} {{ (1,) }} {{ () }} {{ {'a': [1]} }} {{ {} }}", "[1, [2]] (1,) () {'a': [1]} {}"},
      {"{{ 1 + 2 - 4 }} {{ 2 * 3 / 4 }} {{ 7 // 2 % 2 }} {{ 2 ** 3 }} {{ -1 }} {{ +1 }}", "-1 1.5 1 8 -1 1"},
      {"{{ 1 ~ 'a' ~ 2 }}", "1a2"},
      {"{{ 1 < 2 <= 2 != 3 }} {{ 1 in [1] }} {{ 1 not in [1] }} {{ 2 >= 1 == 1 }}", "True True False True"},
      {"{{ 1 and 2 }} {{ 0 or 3 }} {{ not 1 }} {{ not not 1 }}", "2 3 False True"},
      {"{{ 1 if true else 2 }} {{ 1 if false else 2 }}{{ 1 if false }}", "1 2"},
      {"{{ 'a'|upper|lower }} {{ 3|string|length }} {{ x.l|join('-') }}", "a 1 1-2-3-4"},
      {"{{ 1 is defined }} {{ 1 is not odd }} {{ 4 is divisibleby 2 }} {{ 3 is divisibleby(2) }}",
       "True False True False"},
      {"{{ 'abc'.replace('b', 'x').upper() }} {{ dict(a=1, **{'b': 2}) }} {{ range(*[1, 3])|list }}",
       "AXC {'a': 1, 'b': 2} [1, 2]"},
      {"{% set y = 1 %}{{ y }}{% set a, b = 2, 3 %}{{ a }}{{ b }}{% set n = namespace(v=1) %}{% set n.v = 4 %}{{ n.v "
       "}}",
       "1234"},
      {"{% set y %}t{% endset %}{{ y }}{% set y | upper %}t{% endset %}{{ y }}", "tT"},
      {"{% for i in [1, 2, 3] if i != 2 %}{{ i }}{% else %}e{% endfor %}{% for i in [] %}{% else %}e{% endfor %}",
       "13e"},
      {"{% for a, b in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}{% for i in [[1]] recursive %}{{ loop.depth }}{% endfor %}",
       "121"},
      {"{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}{% if 0 %}a{% else %}c{% endif %}", "bc"},
      {"{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}{{ m(1) }}{% call m(3) %}c{% endcall "
       "%}",
       "1232c"},
      {"{% filter upper %}a{% endfilter %}{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}", "A12"},
      {"{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% "
       "endfor %}",
       "1"},
      {"{% raw %}{{ x }}{% endraw %}{# c #}{% generation %}g{% endgeneration %}", "{{ x }}g"},
  };
  for (const auto& [source, printed] : parts) {
    for (const size_t lines : {size_t{0}, size_t{400}, size_t{1500}}) {
      const std::string before(lines, '\n');
      const auto rendered = RenderText(before + source, context);
      ASSERT_TRUE(rendered) << source << " behind " << lines << " lines: " << rendered.error().message;
      EXPECT_EQ(*rendered, before + printed) << source;
    }
  }
}

// Brackets take two steps of a parser's depth, a sign one.
TEST(TemplatePositions, SignsWithinBracketsAreCountedOneByOne) {
  const auto nested = [](size_t signs) {
    const auto rendered =
        RenderText("{{ " + std::string(200, '(') + std::string(signs, '-') + "1" + std::string(200, ')') + " }}");
    return rendered ? *rendered : rendered.error().message;
  };
  EXPECT_EQ(nested(98), "1");
  EXPECT_EQ(nested(99), "chat template, line 1: an expression nests deeper than 500 levels");
}

TEST(TemplatePositions, ATemplateHasAMebibyteAtMost) {
  const std::string most(1 << 20, 'a');
  EXPECT_EQ(RenderText(most), most);
  EXPECT_EQ(RenderText(most + "a").error().message, "the chat template has 1048577 bytes; at most 1048576 are allowed");
}

TEST(TemplateErrors, WhatIsUndefinedIsNamedWhereItIsUsed) {
  for (const char* use : {"x|round",
                          "x|int",
                          "x|float",

                          "x|filesizeformat",
                          "x|indent",
                          "x|dictsort",
                          "x + 1",
                          "1 + x",
                          "x - 1",
                          "2 * x",
                          "x / 1",
                          "x // 1",
                          "x % 1",
                          "x ** 1",
                          "x < 1",
                          "1 < x",
                          "x >= 1",
                          "-x",
                          "+x",
                          "x()",
                          "x.a",
                          "x['a']",
                          "x[1:]",
                          "'%d' % x",

                          "'a' * x",

                          "x is odd",
                          "x is divisibleby 2"}) {
    const auto rendered = RenderText("{{ " + std::string(use) + " }}");
    EXPECT_EQ(rendered ? *rendered : rendered.error().message, "chat template, line 1: 'x' is undefined") << use;
  }
}

TEST(TemplateNumbers, ThatAreNotFiniteAreWrittenAsPythonWritesThem) {
  const auto printed = [](const std::string& number) {
    return *RenderText("{{ (" + number + ")|tojson }} {{ " + number + " }}");
  };
  EXPECT_EQ(printed("1e308 * 10"), "Infinity inf");
  EXPECT_EQ(printed("-1e308 * 10"), "-Infinity -inf");
  EXPECT_EQ(printed("1e308 * 10 - 1e308 * 10"), "NaN nan");
}

}  // namespace
}  // namespace inferflux::text
