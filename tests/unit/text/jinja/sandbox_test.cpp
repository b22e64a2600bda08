// What a hostile template or request must not be able to do, and the errors that it gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

using ::testing::HasSubstr;

std::string Repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

class ExhaustsTheSandbox : public ::testing::TestWithParam<const char*> {};

TEST_P(ExhaustsTheSandbox, IsRefused) {
  RenderOptions options;
  options.max_memory_bytes = 16 << 20;
  options.max_steps = 2'000'000;
  const auto rendered = RenderText(GetParam(), {{"long", std::string(100000, 'x')}}, options);
  ASSERT_FALSE(rendered.has_value()) << rendered->size();
  EXPECT_EQ(rendered.error().code, ErrorCode::kResourceExhausted) << rendered.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Memory, ExhaustsTheSandbox,
    ::testing::Values(
        "{{ 'a' * 10**9 }}", "{{ [0] * 10**9 }}", "{{ ('a' ~ long) * 10**15 }}", "{{ '%999999999s' % 1 }}",
        "{{ '{:>999999999}'.format(1) }}", "{{ 'a'.center(10**9) }}", "{{ 'a'.zfill(10**9) }}",
        "{{ '\t'.expandtabs(10**9) }}", "{{ 'a'|center(10**9) }}", "{{ long|replace('x', long) }}",
        "{{ long.replace('', long) }}", "{{ long.join(long) }}", "{{ long|list|join(long) }}",
        "{{ [1]|tojson(indent=10**9) }}", "{{ 'a\nb'|indent(10**9) }}", "{{ [1]|batch(10**9, 0)|list }}",
        "{{ range(10**9) }}", "{{ '%*d' % (10**9, 1) }}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = ns.x + [{'a': i}] %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set _ = ns.x.append({'a': i}) %}{% endfor %}"));

INSTANTIATE_TEST_SUITE_P(
    Steps, ExhaustsTheSandbox,
    ::testing::Values("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
                      "{% for i in long %}{% for j in long %}{% endfor %}{% endfor %}",
                      "{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor "
                      "%}{{ {ns.x: 1} }}",
                      "{% set ns = namespace(x=1, y=1) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
                      "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
                      "{% for i in range(99999) %}{{ long.count('y') }}{% endfor %}", "{{ [1]|slice(10**9)|list }}"));

INSTANTIATE_TEST_SUITE_P(
    Depth, ExhaustsTheSandbox,
    ::testing::Values(
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f() %}{{ caller() }}{% call f() %}{% endcall %}{% endmacro %}{% call f() %}{% endcall %}",
        "{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set _ = ns.x.append(ns.x) %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = ns.x|map('upper') %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = cycler(ns.x) %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = joiner(ns.x) %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}"));

TEST(Sandbox, OutputIsBounded) {
  RenderOptions options;
  options.max_output_bytes = 1000;
  const auto rendered = RenderText("{% for i in range(99999) %}0123456789{% endfor %}", {}, options);
  ASSERT_FALSE(rendered.has_value());
  EXPECT_THAT(rendered.error().message, HasSubstr("prints more than 1000 bytes"));
}

TEST(Sandbox, ThingsThatHoldThemselvesDoNotLeakOrOverflow) {
  for (const char* source : {"{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns, {'c': ns}] %}ok",
                             "{% macro f() %}{{ g }}{% endmacro %}{% set g = [f] %}{{ f is callable }}",
                             "{% for i in range(3) %}{% macro f() %}{{ i }}{% endmacro %}{% set k = [f, loop] %}{{ "
                             "loop.changed(loop, f) }}{% endfor %}",
                             "{% set ns = namespace(n=namespace()) %}{% for i in range(20000) %}{% set ns.n = "
                             "namespace(n=ns.n) %}{% endfor %}ok",
                             "{% set ns = namespace() %}{% set ns.g = [1]|map('default', ns) %}ok",
                             "{% set ns = namespace() %}{% macro f() %}{% set ns.c = caller %}{% endmacro %}{% call "
                             "f() %}{{ ns }}{% endcall %}ok"}) {
    const auto rendered = RenderText(source);
    EXPECT_TRUE(rendered.has_value()) << source << ": " << rendered.error().message;
  }
}

TEST(Sandbox, DeepSyntaxIsRefusedNotFollowed) {
  for (const std::string& source :
       {"{{ " + Repeat("(", 5000) + "1" + Repeat(")", 5000) + " }}",
        "{{ " + Repeat("[", 5000) + Repeat("]", 5000) + " }}", "{{ " + Repeat("not ", 5000) + "1 }}",
        "{{ " + Repeat("-", 5000) + "1 }}", "{{ 1" + Repeat(" + 1", 5000) + " }}", "{{ x" + Repeat(".a", 5000) + " }}",
        "{{ x" + Repeat("|e", 5000) + " }}", "{{ 1" + Repeat(" if 1 else 1", 5000) + " }}",
        Repeat("{% if 1 %}", 5000) + Repeat("{% endif %}", 5000), "{{ 1" + Repeat(" and 1", 5000) + " }}",
        "{% set " + Repeat("(", 5000) + "a" + Repeat(")", 5000) + " = 1 %}"}) {
    const auto rendered = RenderText(source);
    ASSERT_FALSE(rendered.has_value()) << source.substr(0, 40);
    EXPECT_THAT(rendered.error().message, HasSubstr("levels")) << source.substr(0, 40);
  }
}

TEST(Sandbox, SearchingIsLinearForHostileTexts) {
  // Comparing at every position would read 10^11 bytes.
  const std::string hay(1 << 20, 'a');
  const std::string half(1 << 19, 'a');
  const boost::json::object context = {{"hay", hay}, {"end", half + "b"}, {"start", "b" + half}};
  EXPECT_EQ(
      RenderText("{{ end in hay }}{{ hay.rfind(start) }}{{ hay.replace(end, '') == hay }}{{ hay.split(end)|length }}"
                 "{{ hay.rsplit(start)|length }}{{ (start ~ hay).find(start) }}{{ (hay ~ end).rpartition(end)[2] }}",
                 context)
          .value_or("?"),
      "False-1True110");
}

TEST(Sandbox, GroupedZerosAreBounded) { EXPECT_FALSE(RenderText("{{ '{:0400000000,}'.format(1) }}").has_value()); }

TEST(Sandbox, IntegersOverflowIntoAnError) {
  for (const char* source : {"{{ 9223372036854775807 + 1 }}", "{{ 2 ** 64 }}", "{{ 9223372036854775807 * 2 }}",
                             "{{ -9223372036854775807 - 2 }}", "{{ 9223372036854775808 }}", "{{ ('9' * 30) | int }}",
                             "{{ 1e30 | int }}", "{{ big }}"}) {
    const auto rendered = RenderText(source, {{"big", UINT64_MAX}});
    ASSERT_FALSE(rendered.has_value()) << source << " gave " << *rendered;
    EXPECT_THAT(rendered.error().message, HasSubstr("64-bit")) << source;
  }
  EXPECT_EQ(
      RenderText("{{ (-9223372036854775807 - 1) // -1 if false else (-9223372036854775807 - 1) % -1 }}").value_or("?"),
      "0");
}

struct BadTemplate {
  const char* source;
  const char* message;
};

TEST(TemplateErrors, NameTheLineAndTheReason) {
  for (const auto& [source, message] : std::initializer_list<BadTemplate>{
           {"a\nb\n{% if x %}", "line 3: the template ends inside a block: '{% endif %}' is missing"},
           {"\n{{ x | nothing }}", "line 2: there is no filter 'nothing'"},
           {"\n\n{{ x is nothing }}", "line 3: there is no test 'nothing'"},
           {"{% include 'x' %}", "line 1: the tag 'include' is not supported"},
           {"{% do x %}", "line 1: unknown tag 'do'"},
           {"\n{{ (1 }}", "line 2: unexpected '}', expected ')'"},
           {"\n{{ 1 +\n }}", "expected an expression, got '}}'"},
           {"{% break %}", "'break' outside of a loop"},
           {"{# open", "line 1: a comment is not closed"},
           {"{% raw %}", "line 1: a raw block is not closed"},
           {"{{ '\\ud800' }}", "is not a character"},
           {"a\n{{ x.y }}", "line 2: 'x' is undefined"},
           {"{% macro m() %}\n\n{{ 1 + 'a' }}{% endmacro %}\n{{ m() }}",
            "line 3: unsupported operand types for +: 'int' and 'str'"},
           {"\n{{ raise_exception('Roles must\nalternate') }}", "line 2: Roles must\nalternate"},
           {"{{ [].append(1) }}", "access to attribute 'append' of 'list' object is unsafe"},
           {"{% set l = [] %}{{ l.append(1) }}", "access to attribute 'append' of 'list' object is unsafe"},
           {"{% set n = namespace(l=[]) %}{{ n.l.extend([1]) }}", "access to attribute 'extend' of 'list'"},
           {"{% set n = namespace(d={}) %}{{ n.d.pop('x') }}", "access to attribute 'pop' of 'dict' object is unsafe"},
           {"{% set n = namespace(l=[1]) %}{{ n.l.pop(1) }}", "there is no such item"},
           {"{% set n = namespace(l=[]) %}{{ n.l.append() }}", "append"},
           {"{% macro m() %}{% set n.l = 1 %}{% endmacro %}{% set n = namespace(l=[]) %}{{ n.l.append(m()) }}",
            "'int'"},
           {"{{ 'x' | pprint }}", "there is no filter 'pprint'"},
           {"{% set x.y = 1 %}", "cannot assign attribute on non-namespace object 'x'"}}) {
    const auto rendered = RenderText(source);
    ASSERT_FALSE(rendered.has_value()) << source;
    EXPECT_THAT(rendered.error().message, HasSubstr(message)) << source;
    EXPECT_EQ(rendered.error().code, ErrorCode::kInvalidArgument) << source;
  }
}

// Kimi K2's templates need this to render calls. Other references to the list do not change.
TEST(Sandbox, AListThatANamespaceHoldsMayGrowAndShrink) {
  const boost::json::object context = {{"list", {"a", "b"}}};
  for (const auto& [source, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{% set n = namespace(l=[]) %}{% for i in range(3) %}{% set _ = n.l.append('x' ~ i) %}{% endfor %}"
            "{{ n.l.pop(0) }}{{ n.l.pop() }}{{ n.l }}",
            "x0x2['x1']"},
           {"{% set n = namespace(l=list) %}{{ n.l.append('c') }} {{ n.l }} {{ list }}",
            "None ['a', 'b', 'c'] ['a', 'b']"},
           {"{% set n = namespace(l=[1]) %}{% set k = n.l %}{{ n.l.pop(-1) }}{{ n.l }}{{ k }}", "1[][1]"},
           {"{% set n = namespace(l=[]) %}{% set _ = n.l.append(n) %}{% set _ = n.l.append(n.l) %}{{ n.l|length }}",
            "2"}}) {
    EXPECT_EQ(RenderText(source, context).value_or("?"), text) << source;
  }
}

TEST(TemplateErrors, BytesThatAreNotUtf8AreRefused) {
  const auto rendered = RenderText("abc\xFF");
  ASSERT_FALSE(rendered.has_value());
  EXPECT_THAT(rendered.error().message, HasSubstr("not valid UTF-8 at byte 3"));
}

TEST(StrftimeNow, PrintsEnglishNamesOfTheGivenTime) {
  RenderOptions options;
  options.now =
      std::chrono::sys_days(std::chrono::year(2024) / 12 / 30) + std::chrono::hours(13) + std::chrono::minutes(5);
  const auto format = [&](const std::string& text) {
    return RenderText("{{ strftime_now('" + text + "') }}", {}, options).value_or("?");
  };
  EXPECT_EQ(format("%d %b %Y"), "30 Dec 2024");
  EXPECT_EQ(format("%A, %B %d, %Y, at %I:%M %p"), "Monday, December 30, 2024, at 01:05 PM");
  EXPECT_EQ(format("%Y-%m-%dT%H:%M:%S %j %y %e %-I %a %%"), "2024-12-30T13:05:00 365 24 30 1 Mon %");
  EXPECT_EQ(format("%G-W%V %U %W %u %w"), "2025-W01 52 53 1 1");
  EXPECT_EQ(format("%Q"), "?");
}

}  // namespace
}  // namespace inferflux::text
