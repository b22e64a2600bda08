#include "text/grammar/gbnf_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "text/grammar/char_escapes.h"
#include "text/grammar/source_cursor.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class GbnfParser : private SourceCursor {
 public:
  explicit GbnfParser(std::string_view source) : SourceCursor(source) {}

  Result<Grammar> Parse() {
    SkipSpace(true);
    while (at_ < source_.size()) {
      if (auto rule = ParseRule(); !rule) return Forward(rule);
      SkipSpace(true);
    }
    for (RuleId rule = 0; rule < grammar_.rules.size(); ++rule) {
      if (grammar_.rules[rule].body) continue;
      return Fail(ErrorCode::kInvalidArgument, "line {}: the rule '{}' is used, but not defined", first_use_[rule],
                  grammar_.rules[rule].name);
    }
    const auto root = ids_.find("root");
    if (root == ids_.end()) return Fail(ErrorCode::kInvalidArgument, "there is no rule 'root', where a text begins");
    grammar_.root = root->second;
    return std::move(grammar_);
  }

 private:
  std::string_view TakeName() {
    const size_t begin = at_;
    while (at_ < source_.size() && IsNameChar(source_[at_])) ++at_;
    return source_.substr(begin, at_ - begin);
  }

  Result<RuleId> RuleOf(std::string_view name) {
    const auto [found, is_new] = ids_.try_emplace(std::string(name), static_cast<RuleId>(grammar_.rules.size()));
    if (is_new) {
      if (grammar_.rules.size() == kMaxRules) return Wrong("there are more than {} rules", kMaxRules);
      grammar_.rules.push_back({.name = std::string(name), .body = nullptr});
      first_use_.push_back(1 + std::ranges::count(source_.substr(0, at_), '\n'));
    }
    return found->second;
  }

  Status ParseRule() {
    const std::string_view name = TakeName();
    if (name.empty()) return Wrong("a rule must begin with a name of letters, digits, '-' and '_'");
    SkipSpace(false);
    if (!Take("::=")) return Wrong("'::=' must follow the name '{}'", name);
    auto rule = RuleOf(name);
    if (!rule) return Forward(rule);
    if (grammar_.rules[*rule].body) return Wrong("the rule '{}' is defined twice", name);
    SkipSpace(true);
    auto body = ParseChoice(0);
    if (!body) return Forward(body);
    grammar_.rules[*rule].body = std::move(*body);
    if (at_ < source_.size() && source_[at_] != '\n') return Wrong("'{}' is not expected here", source_[at_]);
    return {};
  }

  Result<Expr> ParseChoice(size_t depth) {
    std::vector<Expr> ways;
    do {
      SkipSpace(true);
      auto sequence = ParseSequence(depth);
      if (!sequence) return sequence;
      ways.push_back(std::move(*sequence));
    } while (Take("|"));
    return Choice(std::move(ways));
  }

  Result<Expr> ParseSequence(size_t depth) {
    std::vector<Expr> parts;
    while (true) {
      SkipSpace(depth > 0);
      if (at_ == source_.size() || Next("|") || Next(")") || Next("\n")) return Sequence(std::move(parts));
      auto part = ParseRepeated(depth);
      if (!part) return part;
      parts.push_back(std::move(*part));
    }
  }

  Result<Expr> ParseRepeated(size_t depth) {
    auto part = ParseOne(depth);
    while (part) {
      SkipSpace(depth > 0);
      if (Take("*")) {
        part = Repeat(std::move(*part), 0, kUnbounded);
      } else if (Take("+")) {
        part = Repeat(std::move(*part), 1, kUnbounded);
      } else if (Take("?")) {
        part = Optional(std::move(*part));
      } else if (Take("{")) {
        const auto times = TakeRepetitions(source_, at_);
        if (!times) return Wrong("{}", times.error().message);
        part = Repeat(std::move(*part), times->min, times->max);
      } else {
        break;
      }
    }
    return part;
  }

  Result<Expr> ParseOne(size_t depth) {
    if (Take("\"")) return ParseLiteral();
    if (Take("[")) return ParseClass();
    if (Take(".")) return OneOf(Complement({}));
    if (Take("(")) {
      if (depth == kMaxNesting) return Wrong("groups are nested deeper than {}", kMaxNesting);
      auto group = ParseChoice(depth + 1);
      if (!group) return group;
      SkipSpace(true);
      if (!Take(")")) return Wrong("a ')' is missing");
      return group;
    }
    const std::string_view name = TakeName();
    if (name.empty()) return Wrong("'{}' is not expected here", source_[at_]);
    auto rule = RuleOf(name);
    if (!rule) return Forward(rule);
    return Call(*rule);
  }

  // One character of a literal or a class.
  Result<char32_t> TakeChar() {
    if (at_ == source_.size() || source_[at_] == '\n') return Wrong("the line ends inside a literal or class");
    if (Take("\\")) {
      auto code = TakeEscape(source_, at_, "\"[]");
      if (!code) return Wrong("{}", code.error().message);
      return code;
    }
    const unicode::Utf8Char c = unicode::DecodeUtf8(source_, at_);
    if (!c.valid) return Wrong("the grammar is not UTF-8");
    at_ += c.size;
    return c.code;
  }

  Result<Expr> ParseLiteral() {
    std::string text;
    while (!Take("\"")) {
      const auto c = TakeChar();
      if (!c) return Forward(c);
      unicode::AppendUtf8(*c, text);
    }
    return Literal(std::move(text));
  }

  Result<Expr> ParseClass() {
    const bool negated = Take("^");
    std::vector<CodeRange> ranges;
    while (!Take("]")) {
      const auto first = TakeChar();
      if (!first) return Forward(first);
      CodeRange range{*first, *first};
      if (Next("-") && !Next("-]")) {
        ++at_;
        const auto last = TakeChar();
        if (!last) return Forward(last);
        range.last = *last;
        if (range.last < range.first) return Wrong("a range of a class ends before it begins");
      }
      ranges.push_back(range);
    }
    CodeRanges set = Normalise(ranges);
    return OneOf(negated ? Complement(set) : std::move(set));
  }

  Grammar grammar_;
  std::vector<std::ptrdiff_t> first_use_;  // line, by rule
  std::unordered_map<std::string, RuleId> ids_;
};

}  // namespace

Result<Grammar> ParseGbnf(std::string_view source) {
  if (source.size() > kMaxGrammarBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the grammar has {} bytes; at most {} are taken", source.size(),
                kMaxGrammarBytes);
  }
  return GbnfParser(source).Parse();
}

}  // namespace inferflux::text
