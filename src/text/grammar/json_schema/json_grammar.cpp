#include "text/grammar/json_schema/json_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <string>
#include <utility>

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/json_schema/quoted_text.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr char kQuote = '"';

Expr HexDigit() { return OneOf({{'0', '9'}, {'A', 'F'}, {'a', 'f'}}); }
Expr Digits(uint32_t min, uint32_t max) { return Repeat(OneOf({{'0', '9'}}), min, max); }
Expr Either(char a, char b) {
  return OneOf(Normalise(std::vector<CodeRange>{{char32_t(a), char32_t(a)}, {char32_t(b), char32_t(b)}}));
}

// A trie of names by their characters.
struct NameTree {
  std::map<char32_t, NameTree> next;
  bool is_name = false;

  void Add(std::string_view name) {
    if (name.empty()) {
      is_name = true;
      return;
    }
    const unicode::Utf8Char c = unicode::DecodeUtf8(name, 0);
    next[c.code].Add(name.substr(c.size));
  }

  // All plain characters, except those of the names.
  Expr Others() const {
    std::vector<CodeRange> begun;
    std::vector<Expr> ways;
    for (const auto& [code, tree] : next) {
      if (Intersect({{code, code}}, PlainWithin(kQuote)).empty()) continue;  // needs an escape: never written
      begun.push_back({code, code});
      std::string text;
      unicode::AppendUtf8(code, text);
      ways.push_back(Sequence({Literal(text), tree.Others()}));
    }
    ways.push_back(Sequence({OneOf(Intersect(PlainWithin(kQuote), Complement(Normalise(begun)))),
                             Repeat(OneOf(PlainWithin(kQuote)), 0, kUnbounded)}));
    if (!is_name) ways.push_back(Literal(""));
    return Choice(std::move(ways));
  }
};

Expr ListOf(char open, const Expr& item, const Expr& comma, const Expr& space, char close) {
  return Sequence({Literal(std::string(1, open)), space,
                   Optional(Sequence({item, Repeat(Sequence({comma, item}), 0, kUnbounded), space})),
                   Literal(std::string(1, close))});
}

}  // namespace

Result<Grammar> JsonGrammar::Finish(std::string name, Expr root) {
  if (grammar_.rules.size() >= kMaxRules) {
    return Fail(ErrorCode::kInvalidArgument, "{} needs {} rules, and at most {} are allowed", name,
                grammar_.rules.size() + 1, kMaxRules);
  }
  grammar_.root = grammar_.Add(std::move(name), std::move(root));
  return std::move(grammar_);
}

Expr JsonGrammar::Comma() { return exact_ ? Literal(exact_->item) : Sequence({Literal(","), Space()}); }

Expr JsonGrammar::Space() {
  if (exact_) return Literal("");
  if (!space_) {
    space_ = grammar_.Add(
        "white space",
        Optional(Choice({Literal(" "), Sequence({Repeat(Literal("\n"), 1, 2), Repeat(Either(' ', '\t'), 0, 20)})})));
  }
  return Call(*space_);
}

Expr JsonGrammar::CharacterBody() {
  const Expr hex = HexDigit();
  const Expr low = OneOf(Normalise(std::vector<CodeRange>{{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}));
  const Expr d = Either('d', 'D');
  // Not a surrogate, or a pair of them.
  const Expr single = Choice({Sequence({low, hex, hex, hex}), Sequence({d, OneOf({{'0', '7'}}), hex, hex})});
  const Expr pair = Sequence({d, OneOf({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), hex, hex, Literal("\\u"), d,
                              OneOf({{'C', 'F'}, {'c', 'f'}}), hex, hex});
  const Expr letter = OneOf(Normalise(std::vector<CodeRange>{
      {'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}));
  return Choice({OneOf(PlainWithin(kQuote)),
                 Sequence({Literal("\\"), Choice({letter, Sequence({Literal("u"), Choice({single, pair})})})})});
}

Expr JsonGrammar::Character() {
  if (!character_) character_ = grammar_.Add("a character", CharacterBody());
  return Call(*character_);
}

Expr JsonGrammar::String() {
  if (!string_) {
    string_ =
        grammar_.Add("a string", Sequence({Literal("\""), Repeat(CharacterBody(), 0, kUnbounded), Literal("\"")}));
    grammar_.rules[*string_].apart = true;
  }
  return Call(*string_);
}

Result<Expr> JsonGrammar::String(uint32_t min, uint32_t max) {
  if (min == 0 && max == kUnbounded) return String();
  return Sequence({Literal("\""), Repeat(Character(), min, max), Literal("\"")});
}

Result<Expr> JsonGrammar::Quoted(const Expr& content) {
  return Sequence({Literal("\""), EscapedWithin(kQuote, content), Literal("\"")});
}

Result<Expr> JsonGrammar::Quoted(const CharAutomaton& contents) { return Quoted(contents.ToExpression()); }

Expr JsonGrammar::Word(std::string_view word) { return Literal(std::string(word)); }

Result<Expr> JsonGrammar::NameExcept(const std::vector<std::string_view>& names) {
  if (names.empty()) return String();
  NameTree tree;
  for (const std::string_view name : names) tree.Add(name);
  return Sequence({Literal("\""), tree.Others(), Literal("\"")});
}

Result<CharAutomaton> JsonGrammar::NamesBut(const std::vector<std::string_view>& names) {
  std::vector<Expr> texts;
  for (const std::string_view name : names) texts.push_back(Literal(std::string(name)));
  const auto listed = CharAutomaton::Of(*Choice(std::move(texts)));
  return listed ? CharAutomaton::Everything().Without(*listed) : listed;
}

Expr JsonGrammar::Integer() {
  if (!integer_) {
    integer_ = grammar_.Add(
        "an integer",
        Sequence({Optional(Literal("-")), Choice({Literal("0"), Sequence({OneOf({{'1', '9'}}), Digits(0, 15)})})}));
  }
  return Call(*integer_);
}

Expr JsonGrammar::Number() {
  if (!number_) {
    const Expr fraction = Optional(Sequence({Literal("."), Digits(1, 16)}));
    const Expr exponent = Optional(Sequence({Either('e', 'E'), Optional(Either('+', '-')), Digits(1, 2)}));
    number_ = grammar_.Add("a number", Sequence({Integer(), fraction, exponent}));
  }
  return Call(*number_);
}

Expr JsonGrammar::Value() {
  if (!value_) {
    value_ = grammar_.Add("a value", nullptr);
    const Expr array = ListOf('[', Call(*value_), Comma(), Space(), ']');
    Expr body = Choice({Object(), array, String(), Number(), Word("true"), Word("false"), Word("null")});
    grammar_.rules[*value_].body = std::move(body);
  }
  return Call(*value_);
}

Expr JsonGrammar::Object() {
  if (!object_) {
    object_ = grammar_.Add("an object", nullptr);
    Expr body = ListOf('{', Member(Name(), Value()), Comma(), Space(), '}');
    grammar_.rules[*object_].body = std::move(body);
  }
  return Call(*object_);
}

Expr JsonGrammar::Member(Expr name, Expr value) {
  if (exact_) return Sequence({std::move(name), Literal(exact_->key), std::move(value)});
  return Sequence({std::move(name), Literal(":"), Space(), std::move(value)});
}

Result<Expr> JsonGrammar::Constant(const json::value& value) {
  if (value.is_double()) return Literal(fmt::format("{}", value.get_double()));
  if (value.is_string()) return Quoted(Literal(std::string(value.get_string())));
  if (value.is_null() || value.is_bool()) return Word(json::serialize(value));
  if (!value.is_structured()) return Literal(json::serialize(value));
  const bool is_object = value.is_object();
  std::vector<Expr> parts = {Literal(is_object ? "{" : "["), Space()};
  const auto add = [&](Expr part) {
    if (parts.size() > 2) parts.push_back(Comma());
    parts.push_back(std::move(part));
  };
  if (is_object) {
    for (const auto& [key, content] : value.get_object()) {
      auto name = Name(key);
      if (!name) return name;
      auto item = Constant(content);
      if (!item) return item;
      add(Member(std::move(*name), std::move(*item)));
    }
  } else {
    for (const auto& content : value.get_array()) {
      auto item = Constant(content);
      if (!item) return item;
      add(std::move(*item));
    }
  }
  if (parts.size() > 2) parts.push_back(Space());
  parts.push_back(Literal(is_object ? "}" : "]"));
  return Sequence(std::move(parts));
}

}  // namespace inferflux::text
