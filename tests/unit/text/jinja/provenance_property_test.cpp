// Random templates over request text: no trusted span ever contains a byte from the request.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

// The request's characters occur in no literal of the templates, and the engine cannot make them from those literals:
// neither by upper or lower case, nor as part of an escape.
constexpr std::string_view kRequestOnly = "<|>zyxZYX\"\\&;\n";
const std::vector<std::string> kRequestTexts = {
    "<|zyx|>", "zyx", "<|ZYX|>", "z y\nx", "\"<z>\"&y\\", "|", "\xC3\xA9zy\xC3\x9F", "x\ty"};
const std::vector<std::string> kLiterals = {"'abc'", "'b'",  "'AbC'",  "''",     "'a b'",
                                            "'%s'",  "'{}'", "'a{}b'", "'c%sd'", "','"};

class TemplateMaker {
 public:
  explicit TemplateMaker(uint32_t seed) : random_(seed) {}

  std::string Make() {
    std::string source = "{% set ns = namespace(v='', l=[]) %}";
    for (int i = 0; i < 4; ++i) source += Statement(2);
    return source;
  }

 private:
  template <class Options>
  const auto& Pick(const Options& options) {
    return options[std::uniform_int_distribution<size_t>(0, std::size(options) - 1)(random_)];
  }
  bool Chance(int percent) { return std::uniform_int_distribution<int>(0, 99)(random_) < percent; }

  std::string Text(int depth) {
    static const std::vector<std::string> kRequest = {"r",    "r2",    "m[0].c", "d[r2]",
                                                      "l[0]", "l[-1]", "ns.v",   "(d|first)"};
    static const std::vector<std::string> kMethods = {".upper()",
                                                      ".lower()",
                                                      ".title()",
                                                      ".capitalize()",
                                                      ".swapcase()",
                                                      ".casefold()",
                                                      ".strip(@)",
                                                      ".lstrip(@)",
                                                      ".rstrip()",
                                                      ".replace(@, @)",
                                                      ".replace('', @)",
                                                      ".center(12)",
                                                      ".ljust(9, 'b')",
                                                      ".rjust(8, @[:1] or 'a')",
                                                      ".zfill(9)",
                                                      ".expandtabs(2)",
                                                      ".join([@, @])",
                                                      ".join(@)",
                                                      ".format(@, @)",
                                                      ".format_map(d)",
                                                      ".removeprefix(@)",
                                                      ".removesuffix(@)",
                                                      ".split()[0]",
                                                      ".split(@ or 'a')[-1]",
                                                      ".rsplit('z', 1)[0]",
                                                      ".partition(@ or '|')[1]",
                                                      ".rpartition('y')[2]",
                                                      ".splitlines()[0]",
                                                      "[1:]",
                                                      "[::-1]",
                                                      "[0]",
                                                      "[-2:]",
                                                      "[::2]"};
    static const std::vector<std::string> kFilters = {"upper",
                                                      "lower",
                                                      "title",
                                                      "capitalize",
                                                      "trim",
                                                      "trim(@)",
                                                      "replace(@, @)",
                                                      "string",
                                                      "safe",
                                                      "escape",
                                                      "e",
                                                      "forceescape",
                                                      "tojson",
                                                      "tojson(indent=1)",
                                                      "tojson(ensure_ascii=true)",
                                                      "urlencode",
                                                      "indent(1, true)",
                                                      "indent(@)",
                                                      "truncate(3, true, @[:2], 0)",
                                                      "center(9)",
                                                      "reverse",
                                                      "list|join",
                                                      "list|join(@)",
                                                      "first",
                                                      "last",
                                                      "default(@, true)",
                                                      "format(@)",
                                                      "list|sort|join",
                                                      "list|unique|join",
                                                      "list|map('upper')|join",
                                                      "list|batch(2)|map('join')|join(@)",
                                                      "list|string",
                                                      "list|min",
                                                      "list|max",
                                                      "attr('upper')()",
                                                      "list|select('in', @)|join"};
    if (depth == 0) return Chance(60) ? Pick(kRequest) : Pick(kLiterals);
    const std::string a = "(" + Text(depth - 1) + ")";
    switch (std::uniform_int_distribution<int>(0, 11)(random_)) {
      case 0:
        return a + " ~ " + Text(depth - 1);
      case 1:
        return a + " + " + Text(depth - 1);
      case 2:
        return a + " * 2";
      case 3:
        return a + " % " + Text(depth - 1);
      case 4:
        return "[" + a + ", " + Text(depth - 1) + ", 1]|string";
      case 5:
        return "{" + a + ": " + Text(depth - 1) + "}|" + (Chance(50) ? "tojson" : "string");
      case 6:
        return a + " if " + Text(0) + " in " + Text(0) + " else " + Text(depth - 1);
      case 7:
        return "({" + a + ": 1}|items|list)[0][0]";
      case 8:
        return "(dict(" + std::string(Chance(50) ? "d" : "[(r, r2)]") + ", a=" + a + ").values()|list)|join(" +
               Text(0) + ")";
      case 9:
        return a + "|" + Fill(Pick(kFilters));
      default:
        return a + Fill(Pick(kMethods));
    }
  }

  // Replaces each @ by a text.
  std::string Fill(const std::string& pattern) {
    std::string out;
    for (const char c : pattern) out += c == '@' ? "(" + Text(0) + ")" : std::string(1, c);
    return out;
  }

  std::string Statement(int depth) {
    const std::string text = Text(2);
    if (depth == 0) return "{{ " + text + " }}";
    switch (std::uniform_int_distribution<int>(0, 8)(random_)) {
      case 0:
        return "{% set ns.v = " + text + " %}{{ ns.v }}";
      case 1:
        return "{% for c in " + text + " %}" + Statement(depth - 1) +
               "{{ c }}{{ loop.index }}{{ loop.previtem }}{% endfor %}";
      case 2:
        return "{% set b %}" + Statement(depth - 1) + "{% endset %}{{ b|upper }}{{ b[1:] }}";
      case 3:
        return "{% filter " + std::string(Chance(50) ? "upper" : "replace('a', r)") + " %}" + Statement(depth - 1) +
               "{% endfilter %}";
      case 4:
        return "{% macro k(a, b=" + text +
               ") %}{{ a }}{{ b }}{{ kwargs }}{% endmacro %}{{ k(r) }}{{ k('b', r2, q=r) }}";
      case 5:
        return "{% macro w() %}[{{ caller(" + text + ") }}]{% endmacro %}{% call(v) w() %}{{ v }}b{% endcall %}";
      case 6:
        return "{% for g in m|groupby('c') %}{{ g.grouper }}{{ g.list }}{% endfor %}{{ d|dictsort }}{{ d.items() }}";
      case 7:
        return "{% with q = " + text + " %}{{ q }}{{ [q, 'a']|join('b') }}{% endwith %}";
      default:
        return "a{{ " + text + " }}b";
    }
  }

  std::mt19937 random_;
};

boost::json::object MakeRequest(std::mt19937& random) {
  const auto pick = [&] {
    return kRequestTexts[std::uniform_int_distribution<size_t>(0, kRequestTexts.size() - 1)(random)];
  };
  const std::string key = pick();
  return {{"r", pick()},
          {"r2", key},
          {"l", {pick(), pick(), pick()}},
          {"d", {{key, pick()}, {"xx" + pick(), pick()}}},
          {"m", {{{"c", pick()}}, {{"c", pick()}}}}};
}

TEST(ProvenanceProperty, NoTrustedSpanHoldsBytesOfTheRequest) {
  constexpr uint32_t kSeed = 20260102;
  constexpr int kTemplates = 10000;
  std::mt19937 random(kSeed);
  TemplateMaker maker(kSeed + 1);
  RenderOptions options;
  options.max_steps = 20000;  // a few templates never end; most need some hundred steps
  int rendered = 0;
  int with_request_text = 0;
  for (int i = 0; i < kTemplates; ++i) {
    const std::string source = maker.Make();
    const auto request = MakeRequest(random);
    const auto spans = RenderSpans(source, request, options);
    if (!spans) continue;
    ++rendered;
    bool has_request_text = false;
    for (const TextSpan& span : *spans) {
      const bool is_marked = span.text.find_first_of(kRequestOnly) != std::string::npos;
      has_request_text |= is_marked;
      ASSERT_FALSE(span.trusted && is_marked)
          << source << "\nwith " << boost::json::serialize(request) << "\ntrusts '" << span.text << "'";
    }
    with_request_text += has_request_text ? 1 : 0;
  }
  // The test would prove nothing if the templates failed or printed no request text.
  EXPECT_GT(rendered, kTemplates / 4);
  EXPECT_GT(with_request_text, rendered / 2);
}

}  // namespace
}  // namespace inferflux::text
