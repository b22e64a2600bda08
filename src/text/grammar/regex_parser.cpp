#include "text/grammar/regex_parser.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/char_escapes.h"
#include "text/grammar/gbnf_parser.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr std::string_view kPunctuation = " !\"#$%&'()*+,-./:;<=>?@[]^_`{|}~";

const CodeRanges kDigitRange = {{'0', '9'}};
const CodeRanges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CodeRanges kSpaces = {{'\t', '\r'}, {' ', ' '}};
// White space in any dialect: \S matches none of it.
const CodeRanges kAllSpaces = {{'\t', '\r'},     {0x1C, ' '},      {0x85, 0x85},     {0xA0, 0xA0},
                               {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                               {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const CodeRanges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

std::optional<CodeRanges> ClassOfEscape(char c) {
  switch (c) {
    case 'd':
      return kDigitRange;
    case 'D':
      return Complement(kDigitRange);
    case 'w':
      return kWord;
    case 'W':
      return Complement(kWord);
    case 's':
      return kSpaces;
    case 'S':
      return Complement(kAllSpaces);
    default:
      return std::nullopt;
  }
}

class RegexParser {
 public:
  RegexParser(std::string_view source, RegexScope scope) : source_(source), scope_(scope) {}

  Result<Expr> Parse() {
    std::vector<Expr> ways[2][2];  // indexed by whether it is anchored to the beginning and to the end
    do {
      const bool begins = Take('^') || scope_ == RegexScope::kWhole;
      auto way = ParseSequence(0);
      if (!way) return way;
      const bool ends = Take('$') || scope_ == RegexScope::kWhole;
      if (at_ < source_.size() && source_[at_] == '$') return Wrong("'$' is supported at the end only");
      ways[begins][ends].push_back(std::move(*way));
    } while (Take('|'));
    if (at_ < source_.size()) return Wrong("'{}' is not expected here", source_[at_]);
    const Expr any = Repeat(OneOf(Complement({})), 0, kUnbounded);
    std::vector<Expr> out;
    for (const bool begins : {false, true}) {
      for (const bool ends : {false, true}) {
        if (ways[begins][ends].empty()) continue;
        const Expr either = Choice(std::move(ways[begins][ends]));
        out.push_back(Sequence({begins ? Literal("") : any, either, ends ? Literal("") : any}));
      }
    }
    return Choice(std::move(out));
  }

 private:
  template <class... Args>
  tl::unexpected<Error> Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return Fail(ErrorCode::kInvalidArgument, "at byte {} of the pattern: {}", at_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  bool Take(char c) {
    if (at_ == source_.size() || source_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Expr> ParseChoice(size_t depth) {
    std::vector<Expr> ways;
    do {
      auto sequence = ParseSequence(depth);
      if (!sequence) return sequence;
      ways.push_back(std::move(*sequence));
    } while (Take('|'));
    return Choice(std::move(ways));
  }

  Result<Expr> ParseSequence(size_t depth) {
    std::vector<Expr> parts;
    while (at_ < source_.size() && source_[at_] != '|' && source_[at_] != ')' && !(source_[at_] == '$' && depth == 0)) {
      auto part = ParseRepeated(depth);
      if (!part) return part;
      parts.push_back(std::move(*part));
    }
    return Sequence(std::move(parts));
  }

  Result<Expr> ParseRepeated(size_t depth) {
    auto part = ParseOne(depth);
    if (!part) return part;
    Repetitions times{1, 1};
    if (Take('*')) {
      times = {0, kUnbounded};
    } else if (Take('+')) {
      times = {1, kUnbounded};
    } else if (Take('?')) {
      times = {0, 1};
    } else if (Take('{')) {
      const auto counted = TakeRepetitions(source_, at_);
      if (!counted) return Wrong("{}", counted.error().message);
      times = *counted;
    } else {
      return part;
    }
    Take('?');  // a lazy repetition matches the same texts
    if (at_ < source_.size() && (source_[at_] == '*' || source_[at_] == '+' || source_[at_] == '?')) {
      return Wrong("'{}' follows a repetition", source_[at_]);
    }
    return Repeat(std::move(*part), times.min, times.max);
  }

  Result<Expr> ParseOne(size_t depth) {
    const char c = source_[at_];
    switch (c) {
      case '(':
        return ParseGroup(depth);
      case '[':
        return ParseClass();
      case '.':
        ++at_;
        return OneOf(dot_is_all_ ? Complement({}) : Complement(kLineEnds));
      case '\\':
        return ParseEscape();
      case '^':
      case '$':
        return Wrong("'{}' is supported at the {} of the pattern or of one of its outermost alternatives alone", c,
                     c == '^' ? "beginning" : "end");
      case '*':
      case '+':
      case '?':
      case '{':
        return Wrong("'{}' has nothing to repeat", c);
      default:
        break;
    }
    const auto code = TakeCharacter();
    if (!code) return Forward(code);
    std::string text;
    unicode::AppendUtf8(*code, text);
    return Literal(std::move(text));
  }

  Result<Expr> ParseGroup(size_t depth) {
    if (depth == kMaxNesting) return Wrong("groups are nested deeper than {}", kMaxNesting);
    ++at_;
    const bool outside = dot_is_all_;
    if (source_.substr(at_).starts_with("?s:")) {
      at_ += 3;
      dot_is_all_ = true;
    } else if (Take('?')) {
      const bool named = Take('P');
      if (Take('<') && at_ < source_.size() && source_[at_] != '=' && source_[at_] != '!') {
        while (at_ < source_.size() && !Take('>')) ++at_;
      } else if (named || !Take(':')) {
        return Wrong("look-around, flags and back references are not supported");
      }
    }
    auto group = ParseChoice(depth + 1);
    dot_is_all_ = outside;
    if (!group) return group;
    if (!Take(')')) return Wrong("a ')' is missing");
    return group;
  }

  Result<char32_t> TakeCharacter() {
    const unicode::Utf8Char c = unicode::DecodeUtf8(source_, at_);
    if (!c.valid) return Wrong("the pattern is not UTF-8");
    at_ += c.size;
    return c.code;
  }

  Result<Expr> ParseEscape() {
    ++at_;
    if (at_ < source_.size()) {
      if (auto set = ClassOfEscape(source_[at_])) {
        ++at_;
        return OneOf(std::move(*set));
      }
    }
    const auto code = TakeEscape(source_, at_, kPunctuation);
    if (!code) return Wrong("{}", code.error().message);
    std::string text;
    unicode::AppendUtf8(*code, text);
    return Literal(std::move(text));
  }

  // One member of a class: a character, or a set such as \d.
  struct Member {
    std::optional<CodeRanges> set;
    char32_t code = 0;
  };
  Result<Member> TakeMember() {
    if (!Take('\\'))
      return TakeCharacter().map([](char32_t code) { return Member{.set = std::nullopt, .code = code}; });
    if (at_ < source_.size()) {
      if (auto set = ClassOfEscape(source_[at_])) {
        ++at_;
        return Member{.set = std::move(set)};
      }
      if (Take('b')) return Member{.set = std::nullopt, .code = U'\b'};
    }
    const auto code = TakeEscape(source_, at_, kPunctuation);
    if (!code) return Wrong("{}", code.error().message);
    return Member{.set = std::nullopt, .code = *code};
  }

  Result<Expr> ParseClass() {
    ++at_;
    const bool negated = Take('^');
    std::vector<CodeRange> ranges;
    if (at_ < source_.size() && source_[at_] == ']') return Wrong("an empty class; write \\] for the bracket itself");
    while (!Take(']')) {
      if (at_ == source_.size()) return Wrong("a ']' is missing");
      auto first = TakeMember();
      if (!first) return Forward(first);
      if (first->set) {
        ranges.insert(ranges.end(), first->set->begin(), first->set->end());
        continue;
      }
      CodeRange range{first->code, first->code};
      const bool is_range = at_ + 1 < source_.size() && source_[at_] == '-' && source_[at_ + 1] != ']';
      if (is_range) {
        ++at_;
        const auto last = TakeMember();
        if (!last) return Forward(last);
        if (last->set || last->code < range.first)
          return Wrong("a range of a class has no end, or one before its beginning");
        range.last = last->code;
      }
      ranges.push_back(range);
    }
    CodeRanges set = Normalise(ranges);
    return OneOf(negated ? Complement(set) : std::move(set));
  }

  std::string_view source_;
  RegexScope scope_;
  size_t at_ = 0;
  bool dot_is_all_ = false;  // inside (?s:...)
};

}  // namespace

Result<Expr> ParseRegex(std::string_view pattern, RegexScope scope) {
  if (pattern.size() > kMaxGrammarBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the pattern has {} bytes; at most {} are taken", pattern.size(),
                kMaxGrammarBytes);
  }
  return RegexParser(pattern, scope).Parse();
}

}  // namespace inferflux::text
