#include "text/grammar/lark_parser.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/grammar/char_escapes.h"
#include "text/grammar/gbnf_parser.h"
#include "text/grammar/graft_grammar.h"
#include "text/grammar/json_schema/json_schema.h"
#include "text/grammar/lark_common.h"
#include "text/grammar/regex_parser.h"
#include "text/grammar/shortest_text.h"
#include "text/grammar/source_cursor.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

bool LarkIsDigit(char c) { return c >= '0' && c <= '9'; }
bool LarkIsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool LarkIsLower(char c) { return c >= 'a' && c <= 'z'; }

// Matches the text in any case of its ASCII letters.
Expr LarkAnyCase(std::string_view text) {
  std::vector<Expr> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t size = unicode::DecodeUtf8(text, at).size;
    const char c = text[at];
    if (LarkIsUpper(c) || LarkIsLower(c)) {
      const auto upper = static_cast<char32_t>(c & ~0x20), lower = static_cast<char32_t>(c | 0x20);
      parts.push_back(OneOf({{upper, upper}, {lower, lower}}));
    } else {
      parts.push_back(Literal(std::string(text.substr(at, size))));
    }
    at += size;
  }
  return Sequence(std::move(parts));
}

class LarkParser : private SourceCursor {
 public:
  explicit LarkParser(std::string_view source) : SourceCursor(source, "//") {
    ignored_ = grammar_.Add("what is ignored", nullptr);
    first_use_.push_back(1);
  }

  Result<Grammar> Parse() {
    if (const auto read = Read(); !read) return Forward(read);
    if (const auto shortened = Shorten(); !shortened) return Forward(shortened);
    grammar_.root = grammar_.Add("the text", Sequence({Call(ignored_), Call(ids_.at("start"))}));
    return std::move(grammar_);
  }

  // The limit of tokens that the grammar states; none too if it has an error.
  std::optional<uint32_t> ReadTokenLimit() { return Read() ? max_tokens_ : std::nullopt; }

 private:
  Status Read() {
    SkipSpace(true);
    if (Take("%llguidance")) {
      extended_ = true;
      SkipSpace(false);
      if (!Take("{}")) return Wrong("'{{}}' must follow '%llguidance': its options are not supported");
      SkipSpace(true);
    }
    while (at_ < source_.size()) {
      const Status done = Take("%") ? ParseDirective() : ParseDefinition();
      if (!done) return Forward(done);
      SkipSpace(false);
      if (at_ < source_.size() && source_[at_] != '\n') return Wrong("'{}' is not expected here", source_[at_]);
      SkipSpace(true);
    }
    const bool ignores = !ignores_.empty();
    grammar_.rules[ignored_].body = ignores ? Repeat(Choice(std::move(ignores_)), 0, kUnbounded) : Literal("");
    for (RuleId rule = 0; rule < grammar_.rules.size(); ++rule) {
      if (grammar_.rules[rule].body) continue;
      return Fail(ErrorCode::kInvalidArgument, "line {}: '{}' is used, but not defined", first_use_[rule],
                  grammar_.rules[rule].name);
    }
    const auto start = ids_.find("start");
    if (start == ids_.end()) return Fail(ErrorCode::kInvalidArgument, "there is no rule 'start', where a text begins");
    return LimitTokens(start->second);
  }

  // An alternative may begin on a new line, with '|'.
  bool TakeBar() {
    const size_t before = at_;
    SkipSpace(true);
    if (Take("|")) return true;
    at_ = before;
    return false;
  }

  std::string_view TakeName() {
    const size_t begin = at_;
    while (at_ < source_.size() && (LarkIsUpper(source_[at_]) || LarkIsLower(source_[at_]) ||
                                    LarkIsDigit(source_[at_]) || source_[at_] == '_')) {
      ++at_;
    }
    return source_.substr(begin, at_ - begin);
  }

  static bool IsTerminal(std::string_view name) {
    const size_t letter = name.find_first_not_of('_');
    return letter != std::string_view::npos && LarkIsUpper(name[letter]);
  }

  Result<RuleId> RuleOf(std::string_view name) {
    const auto [found, is_new] = ids_.try_emplace(std::string(name), static_cast<RuleId>(grammar_.rules.size()));
    if (is_new) {
      if (grammar_.rules.size() >= kMaxRules) return Wrong("there are more than {} rules", kMaxRules);
      grammar_.Add(std::string(name), nullptr);
      first_use_.push_back(Line());
    }
    return found->second;
  }

  Status Define(std::string_view name, Expr body) {
    auto rule = RuleOf(name);
    if (!rule) return Forward(rule);
    if (grammar_.rules[*rule].body) return Wrong("'{}' is defined twice", name);
    grammar_.rules[*rule].body = std::move(body);
    return {};
  }

  Status ParseDefinition() {
    while (Take("?") || Take("!")) {
    }
    const std::string_view name = TakeName();
    if (name.empty() || LarkIsDigit(name[0])) return Wrong("a rule, a terminal or a directive must begin here");
    if (Next("{")) return Wrong("'{}' is a template, and templates are not supported; write the rule out", name);
    Attributes attributes;
    if (!extended_ && Next("[")) {
      return Wrong("'{}' has attributes; only a grammar that begins with '%llguidance {{}}' may have them", name);
    }
    if (extended_ && Take("[")) {
      auto read = ParseAttributes(name);
      if (!read) return Forward(read);
      attributes = std::move(*read);
    }
    if (Take(".")) {
      Take("-");
      if (TakeName().empty()) return Wrong("a priority must follow '.'");
    }
    SkipSpace(false);
    if (!Take(":")) return Wrong("':' must follow the name '{}'", name);
    terminal_ = IsTerminal(name);
    auto rule = RuleOf(name);
    if (!rule) return Forward(rule);
    auto body = ParseChoice(0, *rule);
    if (!body) return Forward(body);
    if (attributes.lazy || attributes.stop) lazy_.push_back({*rule, std::move(attributes.stop), Line()});
    if (attributes.max_tokens) token_limits_[*rule] = *attributes.max_tokens;
    return Define(name, std::move(*body));
  }

  // --- what llguidance adds ---

  struct Attributes {
    bool lazy = false;
    Expr stop;  // what the rule's text ends with
    std::optional<uint32_t> max_tokens;
  };

  Result<Attributes> ParseAttributes(std::string_view rule) {
    Attributes out;
    do {
      SkipSpace(true);
      const std::string_view word = TakeName();
      SkipSpace(false);
      const bool bound = Take("=");
      SkipSpace(false);
      if (word == "lazy" && !bound) {
        out.lazy = true;
      } else if (word == "capture" || (word == "stop_capture" && bound)) {  // what a client takes out of the text
        if (bound && !Next("\"")) return Wrong("a string must follow '{}='", word);
        if (const auto text = bound ? TakeString() : Result<std::string>(); !text) return Forward(text);
      } else if ((word == "stop" || word == "suffix") && bound) {
        terminal_ = true;
        if (Next("\"\"")) return Wrong("the '{}' of '{}' is empty", word, rule);
        auto stop = ParseOne(0);
        if (!stop) return Forward(stop);
        out.stop = std::move(*stop);
      } else if (word == "max_tokens" && bound) {
        const auto count = TakeCount("max_tokens=");
        if (!count) return Forward(count);
        if (*count == 0) return Wrong("the 'max_tokens' of '{}' must be at least 1", rule);
        out.max_tokens = *count;
      } else if (word == "temperature") {
        return Wrong("the 'temperature' of a rule is not supported; set that of the request");
      } else {
        return Wrong("'{}' has an attribute that is not supported: '{}'", rule, word);
      }
      SkipSpace(true);
    } while (Take(","));
    if (!Take("]")) return Wrong("a ']' is missing behind the attributes of '{}'", rule);
    return out;
  }

  // Tokens are counted of whole texts only. So a limit is that of the text, if the text is that rule.
  Status LimitTokens(RuleId start) {
    size_t met = 0, steps = 0;
    for (RuleId rule = start; met < token_limits_.size(); ++steps) {
      if (const auto limit = token_limits_.find(rule); limit != token_limits_.end()) {
        max_tokens_ = std::min(max_tokens_.value_or(limit->second), limit->second);
        ++met;
      }
      const Expression& body = *grammar_.rules[rule].body;
      if (body.kind != Expression::Kind::kCall || steps == grammar_.rules.size()) break;  // rules may call in a circle
      rule = body.rule;
    }
    if (met == token_limits_.size()) return {};
    return Fail(ErrorCode::kUnsupported,
                "'max_tokens' is supported of a rule that is the whole text, and not of a part of it; "
                "use a repetition, such as /.{{0,80}}/");
  }

  Status Shorten() {
    std::unordered_set<RuleId> rules;
    for (const LazyRule& lazy : lazy_) rules.insert(lazy.rule);
    for (const auto& [rule, stop, line] : lazy_) {
      auto shortest = ShortestText(grammar_, rule, stop, rules);
      if (!shortest) {
        return Fail(ErrorCode::kInvalidArgument, "line {}: '{}' is lazy or has a stop: {}", line,
                    grammar_.rules[rule].name, shortest.error().message);
      }
      grammar_.rules[rule].body = std::move(*shortest);
    }
    return {};
  }

  // How the library writes white space by this schema: in the member "x-guidance", which is not a keyword.
  Result<std::optional<JsonSeparators>> TakeSeparators(boost::json::object& schema) const {
    std::optional<JsonSeparators> out;
    const boost::json::value options =
        schema.contains("x-guidance") ? schema.at("x-guidance") : boost::json::value(boost::json::object());
    schema.erase("x-guidance");
    if (!options.is_object()) return Wrong("'x-guidance' must be an object");
    JsonSeparators named;
    for (const auto& [name, value] : options.get_object()) {
      const boost::json::string* text = value.if_string();
      const bool is_space =
          text != nullptr && text->find_first_not_of(name == "item_separator" ? ", " : ": ") == std::string::npos;
      if (name == "whitespace_flexible" && value.is_bool()) {
        if (!value.get_bool()) out.emplace();
      } else if (name == "item_separator" && is_space && std::ranges::count(*text, ',') == 1) {
        named.item = *text;
      } else if (name == "key_separator" && is_space && std::ranges::count(*text, ':') == 1) {
        named.key = *text;
      } else if (name != "coerce_one_of" && !value.is_null() && value != boost::json::value(false)) {
        return Wrong("the option '{}' of 'x-guidance' is not supported with this value", std::string_view(name));
      }
    }
    if (out) *out = std::move(named);
    return out;
  }

  // A schema, behind %json.
  Result<Expr> ParseSchema() {
    SkipSpace(true);
    const size_t begin = at_;
    size_t depth = 0;
    bool quoted = false;
    for (; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (quoted && c == '\\' && at_ + 1 < source_.size()) ++at_;
      if (c == '"') quoted = !quoted;
      if (!quoted && (c == '{' || c == '[')) ++depth;
      if (!quoted && (c == '}' || c == ']') && (depth == 0 || --depth == 0)) break;
      if (depth == 0) break;
    }
    if (at_ >= source_.size() || depth > 0 || source_[begin] != '{') return Wrong("a JSON object must follow '%json'");
    ++at_;
    auto schema = ReadSchema(std::string(source_.substr(begin, at_ - begin)));
    if (!schema) return Wrong("the schema of '%json': {}", schema.error().message);
    const auto separators = TakeSeparators(schema->get_object());
    if (!separators) return Forward(separators);
    const auto values = GrammarOfSchema(*schema, *separators);
    if (!values) return Wrong("the schema of '%json': {}", values.error().message);
    if (grammar_.rules.size() + values->rules.size() > kMaxRules)
      return Wrong("there are more than {} rules", kMaxRules);
    Expr out = GraftGrammar(*values, grammar_);
    first_use_.resize(grammar_.rules.size(), Line());
    return out;
  }

  Status ParseDirective() {
    const std::string_view word = TakeName();
    SkipSpace(false);
    if (word == "ignore") {
      terminal_ = true;
      auto ignored = ParseChoice(0, std::nullopt);
      if (!ignored) return Forward(ignored);
      ignores_.push_back(std::move(*ignored));
      return {};
    }
    if (word != "import") {
      return Fail(ErrorCode::kUnsupported, "line {}: '%{}' is not supported; only %ignore and %import are", Line(),
                  word);
    }
    if (!Take("common")) return Wrong("only terminals of 'common' can be imported");
    if (Take(".")) return Import(TakeName());
    SkipSpace(false);
    if (!Take("(")) return Wrong("a name, as in common.INT, or a list of names must follow 'common'");
    do {
      SkipSpace(true);
      if (auto imported = Import(TakeName()); !imported) return imported;
      SkipSpace(true);
    } while (Take(","));
    if (!Take(")")) return Wrong("a ')' is missing");
    return {};
  }

  Status Import(std::string_view name) {
    const auto pattern = LarkCommonTerminal(name);
    if (!pattern) return Wrong("'common' has no terminal '{}'", name);
    auto body = ParseRegex(*pattern, RegexScope::kWhole);
    if (!body) return Forward(body);
    SkipSpace(false);
    std::string_view known_as = name;
    if (Take("->")) {
      SkipSpace(false);
      known_as = TakeName();
    }
    return Define(known_as, std::move(*body));
  }

  // `self`: the rule that is defined, at its top level.
  Result<Expr> ParseChoice(size_t depth, std::optional<RuleId> self) {
    std::vector<Expr> ways, tails;  // the tails of ways that begin with the rule itself
    do {
      auto parts = ParseSequence(depth);
      if (!parts) return Forward(parts);
      const bool recursive =
          self && !parts->empty() && (*parts)[0]->kind == Expression::Kind::kCall && (*parts)[0]->rule == *self;
      if (recursive) parts->erase(parts->begin());
      (recursive ? tails : ways).push_back(Sequence(std::move(*parts)));
      SkipSpace(depth > 0);
      if (Take("->")) {  // an alias names a tree
        SkipSpace(false);
        if (TakeName().empty()) return Wrong("a name must follow '->'");
      }
    } while (TakeBar());
    Expr first = Choice(std::move(ways));
    if (tails.empty()) return first;
    return Sequence({std::move(first), Repeat(Choice(std::move(tails)), 0, kUnbounded)});
  }

  Result<std::vector<Expr>> ParseSequence(size_t depth) {
    std::vector<Expr> parts;
    while (true) {
      SkipSpace(depth > 0);
      if (at_ == source_.size() || Next("|") || Next(")") || Next("]") || Next("\n") || Next("->")) return parts;
      auto part = ParseRepeated(depth);
      if (!part) return Forward(part);
      parts.push_back(std::move(*part));
    }
  }

  Result<Expr> ParseRepeated(size_t depth) {
    auto part = ParseOne(depth);
    if (!part) return part;
    if (Take("*")) return Repeat(std::move(*part), 0, kUnbounded);
    if (Take("+")) return Repeat(std::move(*part), 1, kUnbounded);
    if (Take("?")) return Optional(std::move(*part));
    if (extended_ && Take("{")) {
      const auto times = TakeRepetitions(source_, at_);
      if (!times) return Wrong("{}", times.error().message);
      return Repeat(std::move(*part), times->min, times->max);
    }
    const size_t before = at_;
    SkipSpace(false);
    if (!Take("~")) {
      at_ = before;
      return part;
    }
    SkipSpace(false);
    const auto min = TakeCount("~");
    if (!min) return Forward(min);
    uint32_t max = *min;
    if (Take("..")) {
      const auto count = TakeCount("~");
      if (!count) return Forward(count);
      max = *count;
    }
    if (max < *min) return Wrong("a repetition of {} to {} times cannot be", *min, max);
    return Repeat(std::move(*part), *min, max);
  }

  Result<uint32_t> TakeCount(std::string_view behind) {
    uint32_t count = 0;
    const auto [end, error] = std::from_chars(source_.data() + at_, source_.data() + source_.size(), count);
    if (error != std::errc() || count > kMaxRepetitions) {
      return Wrong("a number from 0 to {} must follow '{}'", kMaxRepetitions, behind);
    }
    at_ = static_cast<size_t>(end - source_.data());
    return count;
  }

  Result<Expr> ParseOne(size_t depth) {
    if (Next("(") || Next("[")) {
      const bool optional = Next("[");
      if (depth == kMaxNesting) return Wrong("groups are nested deeper than {}", kMaxNesting);
      ++at_;
      auto group = ParseChoice(depth + 1, std::nullopt);
      if (!group) return group;
      SkipSpace(true);
      if (!Take(optional ? "]" : ")")) return Wrong("a '{}' is missing", optional ? ']' : ')');
      return optional ? Optional(std::move(*group)) : std::move(*group);
    }
    if (Next("\"")) return Token(ParseString());
    if (Next("/")) return Token(ParsePattern());
    if (extended_ && Take("%json")) return ParseSchema();
    if (extended_ && (Next("%") || Next("<"))) {
      return Wrong("only %json is supported here: special tokens, %regex and %lark are not");
    }
    const std::string_view name = TakeName();
    if (name.empty() || LarkIsDigit(name[0])) return Wrong("'{}' is not expected here", source_[at_ - name.size()]);
    if (!extended_ && Next("{")) {
      return Wrong("'{}' is a template, and templates are not supported; write the rule out", name);
    }
    if (terminal_ && !IsTerminal(name)) return Wrong("a terminal cannot contain the rule '{}'", name);
    auto rule = RuleOf(name);
    if (!rule) return Forward(rule);
    if (!IsTerminal(name)) return Call(*rule);
    return Token(Call(*rule));
  }

  // In a rule, what is ignored may follow each terminal.
  Result<Expr> Token(Result<Expr> terminal) {
    if (!terminal || terminal_) return terminal;
    return Sequence({std::move(*terminal), Call(ignored_)});
  }

  Result<std::string> TakeString() {
    std::string text;
    for (++at_; !Take("\"");) {
      if (at_ == source_.size() || source_[at_] == '\n') return Wrong("the line ends inside a string");
      if (Take("\\")) {
        const auto code = TakeEscape(source_, at_, "\"'/");
        if (!code) return Wrong("{}", code.error().message);
        unicode::AppendUtf8(*code, text);
        continue;
      }
      const unicode::Utf8Char c = unicode::DecodeUtf8(source_, at_);
      if (!c.valid) return Wrong("the grammar is not UTF-8");
      text += source_.substr(at_, c.size);
      at_ += c.size;
    }
    return text;
  }

  Result<Expr> ParseString() {
    auto text = TakeString();
    if (!text) return Forward(text);
    if (Take("i")) return LarkAnyCase(*text);
    const size_t before = at_;
    SkipSpace(false);
    if (!Take("..")) {
      at_ = before;
      return Literal(std::move(*text));
    }
    SkipSpace(false);
    if (!Next("\"")) return Wrong("a string of one character must follow '..'");
    const auto last = TakeString();
    if (!last) return Forward(last);
    const unicode::Utf8Char from = unicode::DecodeUtf8(*text, 0), to = unicode::DecodeUtf8(*last, 0);
    if (text->empty() || last->empty() || from.size != text->size() || to.size != last->size() || to.code < from.code) {
      return Wrong("a range must be of two characters, the lower one first");
    }
    const CodeRange range{from.code, to.code};
    return OneOf(Normalise({&range, 1}));
  }

  Result<Expr> ParsePattern() {
    std::string pattern;
    for (++at_; !Take("/");) {
      if (at_ == source_.size() || source_[at_] == '\n') return Wrong("the line ends inside a regular expression");
      if (Take("\\/")) {
        pattern += '/';
      } else {
        const size_t size = source_[at_] == '\\' && at_ + 1 < source_.size() ? 2 : 1;
        pattern += source_.substr(at_, size);
        at_ += size;
      }
    }
    if (at_ < source_.size() && LarkIsLower(source_[at_])) {
      return Wrong("flags of regular expressions, such as '{}', are not supported", source_[at_]);
    }
    auto body = ParseRegex(pattern, RegexScope::kWhole);
    if (!body) return Wrong("in /{}/: {}", pattern, body.error().message);
    return body;
  }

  struct LazyRule {
    RuleId rule = 0;
    Expr stop;
    std::ptrdiff_t line = 0;
  };

  bool terminal_ = false;  // a terminal is being defined
  bool extended_ = false;  // the grammar may have what llguidance adds
  Grammar grammar_;
  RuleId ignored_ = 0;
  std::vector<Expr> ignores_;
  std::vector<std::ptrdiff_t> first_use_;  // line, by rule
  std::unordered_map<std::string, RuleId> ids_;
  std::vector<LazyRule> lazy_;
  std::unordered_map<RuleId, uint32_t> token_limits_;
  std::optional<uint32_t> max_tokens_;  // of the text
};

}  // namespace

Result<Grammar> ParseLark(std::string_view source) {
  if (source.size() > kMaxGrammarBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the grammar has {} bytes; at most {} are taken", source.size(),
                kMaxGrammarBytes);
  }
  if (!unicode::IsValidUtf8(source)) return Fail(ErrorCode::kInvalidArgument, "the grammar is not UTF-8");
  return LarkParser(source).Parse();
}

std::optional<uint32_t> TokenLimitOfLark(std::string_view source) {
  if (source.find("max_tokens") == std::string_view::npos) return std::nullopt;
  return LarkParser(source).ReadTokenLimit();
}

}  // namespace inferflux::text
