// The errors of templates, word for word, and each bound of a template at its edge.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

std::string Repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Its text, or why there is none.
std::string Outcome(std::string_view source, const RenderOptions& options = {},
                    const boost::json::object& context = {}) {
  const auto rendered = RenderText(source, context, options);
  return rendered ? *rendered : rendered.error().message;
}

TEST(TemplateErrors, AreTheseWordForWord) {
  const auto cases = boost::json::parse(ReadFile(INFERFLUX_SOURCE_DIR "/tests/data/jinja/errors.json")).as_array();
  for (const auto& each : cases) {
    const std::string source(each.at(0).as_string()), message(each.at(1).as_string());
    EXPECT_EQ(Outcome("\n\n" + source), "chat template, line 3: " + message) << source;
  }
  EXPECT_GT(cases.size(), 250u);
}

struct Bound {
  const char* what;
  std::function<std::string(size_t)> source;
  size_t last;  // the most that renders
  const char* beyond;
};

// A value that `wrap` nests once a round.
std::function<std::string(size_t)> Nested(const std::string& first, const std::string& wrap) {
  return [=](size_t n) {
    return "{% set ns = namespace(x=" + first + ") %}{% for i in range(" + std::to_string(n) + ") %}" + wrap +
           "{% endfor %}";
  };
}

std::function<std::string(size_t)> Chain(const std::string& before, const std::string& link, const std::string& after) {
  return [=](size_t n) { return before + Repeat(link, n) + after; };
}

std::function<std::string(size_t)> Pairs(const std::string& open, const std::string& inside, const std::string& close) {
  return [=](size_t n) { return Repeat(open, n) + inside + Repeat(close, n); };
}

std::function<std::string(size_t)> Inside(const std::string& before, const std::string& after) {
  return [=](size_t n) { return before + std::to_string(n) + after; };
}

TEST(TemplateBounds, AreReachedAndNotPassed) {
  constexpr const char* kLevels = "an expression has more than 300 levels";
  constexpr const char* kValues = "values nest deeper than 200 levels";
  constexpr const char* kRecursion = "the template recurses deeper than 1000 levels";
  constexpr const char* kPrecision = "a precision of more than 1000 is not supported";
  const Bound bounds[] = {
      {"blocks", Pairs("{% if 1 %}", "", "{% endif %}"), 99, "blocks nest deeper than 100 levels"},
      {"brackets", [](size_t n) { return "{{ " + Pairs("(", "1", ")")(n) + " }}"; }, 249,
       "an expression nests deeper than 500 levels"},
      {"lists", [](size_t n) { return "{{ " + Pairs("[", "", "]")(n) + " }}"; }, 200, kValues},
      {"dicts", [](size_t n) { return "{{ " + Pairs("{1: ", "1", "}")(n) + " }}"; }, 200, kValues},
      {"not", Chain("{{ ", "not ", "1 }}"), 299, kLevels},
      {"minus", Chain("{{ ", "-", "1 }}"), 299, kLevels},
      {"sums", Chain("{{ 1", " + 1", " }}"), 299, kLevels},
      {"products", Chain("{{ 1", " * 1", " }}"), 299, kLevels},
      {"powers", Chain("{{ 1", " ** 1", " }}"), 299, kLevels},
      {"or", Chain("{{ 1", " or 1", " }}"), 299, kLevels},
      {"and", Chain("{{ 1", " and 1", " }}"), 299, kLevels},
      {"if", Chain("{{ 1", " if 1 else 1", " }}"), 299, kLevels},
      {"filters", Chain("{{ 1", "|string", " }}"), 299, kLevels},
      {"attributes", Chain("{% if 0 %}{{ x", ".a", " }}{% endif %}"), 299, kLevels},
      {"subscripts", Chain("{% if 0 %}{{ x", "[1]", " }}{% endif %}"), 298, kLevels},
      {"calls", Chain("{% if 0 %}{{ x", "()", " }}{% endif %}"), 299, kLevels},
      {"lists in lists", Nested("1", "{% set ns.x = [ns.x] %}"), 199, kValues},
      {"tuples in tuples", Nested("1", "{% set ns.x = (ns.x,) %}"), 199, kValues},
      {"dicts in dicts", Nested("1", "{% set ns.x = {'a': ns.x} %}"), 199, kValues},
      {"maps of maps", Nested("[]", "{% set ns.x = ns.x|map('upper') %}"), 198, kValues},
      {"cyclers", Nested("[]", "{% set ns.x = cycler(ns.x) %}"), 198, kValues},
      {"joiners", Nested("[]", "{% set ns.x = joiner(ns.x) %}"), 198, kValues},
      {"lists that hold themselves", Nested("[]", "{% set _ = ns.x.append(ns.x) %}"), 198, kValues},
      {"macros", Inside("{% macro f(n) %}{% if n > 1 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{% set _ = f(", ") %}"),
       249, kRecursion},
      {"recursive loops",
       Inside("{% for x in [", "] recursive %}{% if x > 1 %}{{ loop([x - 1]) }}{% endif %}{% endfor %}"), 250,
       kRecursion},
      {"ranges", Inside("{% set _ = range(", ") %}"), 100000, "a range of more than 100000 items"},
      {"grouped widths", Inside("{% set _ = '{:0", ",}'.format(1) %}"), 1000,
       "a width of more than 1000 with grouped digits is not supported"},
      {"precisions", Inside("{% set _ = '{:.", "f}'.format(1) %}"), 1000, kPrecision},
      {"precisions of %", Inside("{% set _ = '%.", "f' % 1 %}"), 1000, kPrecision},
      {"rounding", Inside("{% set _ = 1|round(", ", 'ceil') %}"), 300, "the precision 301 is out of range"},
      {"rounding down", Inside("{% set _ = 1|round(-", ", 'floor') %}"), 300, "the precision -301 is out of range"},
  };
  for (const Bound& bound : bounds) {
    const auto last = RenderText(bound.source(bound.last));
    EXPECT_TRUE(last) << bound.what << ": " << last.error().message;
    EXPECT_EQ(Outcome(bound.source(bound.last + 1)), std::string("chat template, line 1: ") + bound.beyond)
        << bound.what;
  }
}

TEST(TemplateFormats, AFieldLeadsThroughAttributesAndKeys) {
  const boost::json::object context = {{"d", boost::json::parse(R"({"a":{"b":{"c":"x"}},"l":["y",["z"]]})")}};
  const auto formatted = [&](const std::string& format) {
    return Outcome("{{ '" + format + "'.format(d, n=d) }}", {}, context);
  };
  EXPECT_EQ(formatted("{0.a.b.c} {0[a][b][c]} {0.a[b].c} {0[a].b[c]} {n.a.b[c]}"), "x x x x x");
  EXPECT_EQ(formatted("{0.l[0]} {0[l][1][0]} {n.l[1][0]}"), "y z z");
  EXPECT_EQ(formatted("{0.a.b}"), "{'c': 'x'}");
}

// Numbers that no double holds are infinite or zero, whichever is nearer.
TEST(TemplateNumbers, BeyondDoublesAreInfiniteOrZero) {
  const auto number = [](const std::string& expression) { return Outcome("{{ (" + expression + ")|float }}"); };
  EXPECT_EQ(number("'0.' ~ '0' * 400 ~ '1e+5'"), "0.0");
  EXPECT_EQ(number("'0.' ~ '0' * 400 ~ '1e5'"), "0.0");
  EXPECT_EQ(number("'0.' ~ '0' * 400 ~ '1'"), "0.0");
  EXPECT_EQ(number("'1' ~ '0' * 400"), "inf");
  EXPECT_EQ(number("'-1' ~ '0' * 400 ~ '.5'"), "-inf");
  EXPECT_EQ(number("'1' ~ '0' * 400 ~ 'e-5'"), "inf");
  EXPECT_EQ(number("'1e+400'"), "inf");
  EXPECT_EQ(number("'1e-400'"), "0.0");
  EXPECT_EQ(number("'1e-99999999999999999999'"), "0.0");
  EXPECT_EQ(number("'1e99999999999999999999'"), "inf");
}

// As str.lower() of Python: what a sigma becomes depends on the letters around it, beyond what has no case.
TEST(TemplateLetters, ASigmaAtTheEndOfAWordIsAnotherLetter) {
  const auto lower = [](const std::string& text) { return Outcome("{{ '" + text + "'|lower }}"); };
  EXPECT_EQ(lower("ΑΣ.Β ΑΣ.. ΑΣ:. ΣΑ Σ ΑΣ"), "ασ.β ας.. ας:. σα σ ας");
}

TEST(TemplateBounds, OfStepsAreExact) {
  // The steps that a template takes: the fewest with which it renders.
  const auto steps = [](const std::string& source) {
    const boost::json::object context = {{"long", std::string(3200, 'x')}, {"ones", boost::json::array(100, 1)}};
    uint64_t few = 0, many = 1 << 20;
    while (many - few > 1) {
      RenderOptions options;
      options.max_steps = (few + many) / 2;
      (RenderText(source, context, options) ? many : few) = options.max_steps;
    }
    return many;
  };
  const uint64_t nothing = steps("{% set _ = long %}");
  const auto more = [&](const char* expression) {
    return static_cast<int64_t>(steps(std::string("{% set _ = ") + expression + " %}")) - static_cast<int64_t>(nothing);
  };
  const std::pair<const char*, int64_t> costs[] = {
      {"1 + 1", 2},
      {"[1, 2, 3]", 3},
      {"ones + ones", 227},
      {"ones * 3", 339},
      {"long ~ long", 202},
      {"long * 2", 202},
      {"long.strip()", 104},
      {"long.strip('ab')", 105},
      {"long.upper()", 803},
      {"long.swapcase()", 803},
      {"long.title()", 803},
      {"long.expandtabs()", 803},
      {"long|title", 1799},
      {"long|urlencode", 802},
      {"long.replace('x', 'yz')", 3305},
      {"long.replace('', '-')", 3305},
      {"long.replace('y', 'z')", 105},
      {"'x' in long", 102},
      {"long == long", 103},
      {"long < long", 103},
      {"{long: 1}", 103},
      {"long[1:]", 201},
      {"long[::2]", 1702},
      {"long[1600]", 2},
      {"long.count('xx')", 104},
      {"long.find('y')", 104},
      {"long.rfind('y')", 104},
      {"long.split('x')", 3705},
      {"long.splitlines()", 104},
      {"long.partition('y')", 104},
      {"long.capitalize()", 803},
      {"long.isalpha()", 403},
      {"long.startswith('x')", 5},
      {"long.zfill(4000)", 129},
      {"long.center(4000)", 128},
      {"long|list", 3602},
      {"long|length", 2},
      {"long|reverse", 3302},
      {"ones|sum", 202},
      {"ones|unique|list", 404},
      {"ones|map('string')|list", 317},
      {"ones|select('odd')|list", 417},
      {"ones|join(',')", 303},
      {"ones|batch(3)|list", 109},
      {"ones|slice(3)|list", 120},
      {"[1]|batch(3200, 0)|list", 3608},
      {"ones|min", 301},
      {"ones|tojson", 103},
      {"long|tojson", 103},
      {"long|e", 102},
      {"long|trim", 103},
      {"long|wordcount", 402},
      {"long|indent", 102},
      {"long|replace('x', 'y')", 3304},
      {"'%s' % long", 202},
      {"'{}'.format(long)", 104},
      {"1 in ones", 3},
      {"2 in ones", 202},
      {"ones == ones|list", 217},
      {"ones < ones|list", 217},
      {"ones[::3]", 40},
      {"ones|first", 3},
      {"ones|last", 3},
      {"ones|reverse|list", 116},
      {"range(100)|list", 118},
      {"range(100)|sum", 206},
      {"ones|string", 103},
      {"dict(a=1, b=2)|items|list", 12},
      {"dict(a=1)|dictsort", 6},
      {"long.lstrip('x')", 105},
      {"long.join(['a', 'b'])", 108},
      {"'ä' * 100", 8},
      {"('ä' * 3200)[1600]", 304},
  };
  for (const auto& [expression, cost] : costs) EXPECT_EQ(more(expression), cost) << expression;
}

TEST(TemplateBounds, OfOutputAndOfMessagesAreExact) {
  RenderOptions options;
  options.max_output_bytes = 10;
  EXPECT_EQ(Outcome("01234{{ '56789' }}", options), "0123456789");
  EXPECT_EQ(Outcome("01234{{ '567890' }}", options), "chat template, line 1: the template prints more than 10 bytes");
  const std::string at = "chat template, line 1: ";
  const std::string name(80, 'n');
  EXPECT_EQ(Outcome("{{ {}['" + name + "'].x }}"), at + "'dict object' has no attribute '" + name + "'");
  EXPECT_EQ(Outcome("{{ {}['" + name + "m'].x }}"), at + "'dict object' has no attribute '" + name + "...'");
  EXPECT_EQ(Outcome("{{ {}['" + name.substr(1) + "\xC3\xA4'].x }}"),
            at + "'dict object' has no attribute '" + name.substr(1) + "...'")
      << "a character is not cut";
  EXPECT_EQ(Outcome("{{ raise_exception('\xC3\xA4' * 1000) }}"), at + Repeat("\xC3\xA4", 1000));
  EXPECT_EQ(Outcome("{{ raise_exception('\xC3\xA4' * 1001) }}"), at + Repeat("\xC3\xA4", 1000));
}

TEST(TemplateErrors, NameTheLineOfEachPart) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ 1\n+\n[] }}", "line 3: unsupported operand types for +: 'int' and 'list'"},
      {"{{ [\n1,\n-'a'] }}", "line 3: bad operand type for unary -: 'str'"},
      {"{# a\nb #}\n{{ x.y }}", "line 3: 'x' is undefined"},
      {"{% raw %}\n{{\n{% endraw %}{{ x.y }}", "line 3: 'x' is undefined"},
      {"a\r\nb\rc\n{{ x.y }}", "line 4: 'x' is undefined"},
      {"{% if 1 -%}\n\n{{ x.y }}{% endif %}", "line 3: 'x' is undefined"},
      {"{% for i in [1] %}\n{{ i }}\n{% else %}\n{% foo %}{% endfor %}",
       "line 4: unknown tag 'foo' inside a block that ends with 'endfor'"},
      {"{% set x %}\n{{ 1 / 0 }}{% endset %}", "line 2: division by zero"},
      {"{% set\nx.y = 1 %}", "line 2: cannot assign attribute on non-namespace object 'x'"},
      {"\n{% raw %}\n\n", "line 2: a raw block is not closed: '{% endraw %}' is missing"},
      {"\n{#\n\n", "line 2: a comment is not closed: '#}' is missing"},
      {"{{ 'a\nb'\n|nothing }}", "line 3: there is no filter 'nothing'"},
      {"{% macro m(a,\na) %}{% endmacro %}", "line 2: the parameter 'a' is named twice"},
  };
  for (const auto& [source, message] : cases) {
    EXPECT_EQ(Outcome(source), std::string("chat template, ") + message) << source;
  }
}

}  // namespace
}  // namespace inferflux::text
