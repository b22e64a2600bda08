#include "text/grammar/json_schema/types/pattern_texts.h"

#include <string>
#include <vector>

#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/regex_parser.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxAhead = 8;  // look-aheads in one pattern

// The end of the part that begins at `at`: the ')' that closes a group around it, or the end of the pattern. Passes on
// where it is divided by '|'.
size_t EndOfPart(std::string_view pattern, size_t at, std::vector<size_t>& bars) {
  int depth = 0;
  bool in_class = false;
  for (; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && depth-- == 0) {
      return at;
    } else if (c == '|' && depth == 0) {
      bars.push_back(at);
    }
  }
  return pattern.size();
}

struct Ahead {
  std::string pattern;  // at the beginning of the text
  bool wanted = true;
};

}  // namespace

Result<Expr> ParsePattern(std::string_view pattern) {
  std::vector<Ahead> aheads;
  size_t at = 1;
  while (pattern.starts_with('^') && aheads.size() < kMaxAhead &&
         (pattern.substr(at).starts_with("(?!") || pattern.substr(at).starts_with("(?="))) {
    std::vector<size_t> bars;
    const bool wanted = pattern[at + 2] == '=';
    size_t begin = at + 3;
    const size_t end = EndOfPart(pattern, begin, bars);
    if (end == pattern.size()) break;  // the parser of the whole will say what is missing
    bars.push_back(end);
    std::string ways;
    for (const size_t bar : bars) {
      std::string_view way = pattern.substr(begin, bar - begin);
      if (way.starts_with('^')) way.remove_prefix(1);
      ways += (ways.empty() ? "^" : "|^") + std::string(way);
      begin = bar + 1;
    }
    aheads.push_back({.pattern = std::move(ways), .wanted = wanted});
    at = end + 1;
  }
  std::vector<size_t> bars;
  if (aheads.empty() || (EndOfPart(pattern, at, bars), !bars.empty())) return ParseRegex(pattern, RegexScope::kSearch);
  const auto rest = ParseRegex("^" + std::string(pattern.substr(at)), RegexScope::kSearch);
  if (!rest) return rest;
  auto texts = CharAutomaton::Of(**rest);
  for (const Ahead& ahead : aheads) {
    const auto begins = ParseRegex(ahead.pattern, RegexScope::kSearch);
    if (!begins) return begins;
    const auto other = CharAutomaton::Of(**begins);
    if (!other) return Forward(other);
    if (!texts) break;
    texts = ahead.wanted ? texts->And(*other) : texts->Without(*other);
  }
  if (!texts) return Forward(texts);
  return texts->ToExpression();
}

}  // namespace inferflux::text
