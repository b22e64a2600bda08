#include "text/tool_calls/grammar/python_grammar.h"

#include <string>
#include <utility>

#include "text/grammar/json_schema/quoted_text.h"

namespace inferflux::text {
namespace {

// `content` builds an expression for a quote character.
template <class Content>
Expr InQuotes(Content content) {
  std::vector<Expr> ways;
  for (const char quote : {'"', '\''}) {
    const Expr mark = Literal(std::string(1, quote));
    ways.push_back(Sequence({mark, content(quote), mark}));
  }
  return Choice(std::move(ways));
}

// One character, escaped or not.
Expr AnyCharacter(char quote) {
  const Expr hex = OneOf({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  const Expr low = OneOf(Normalise(std::vector<CodeRange>{{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}));
  const Expr d = OneOf({{'D', 'D'}, {'d', 'd'}});
  const Expr no_surrogate = Choice({Sequence({low, hex, hex, hex}), Sequence({d, OneOf({{'0', '7'}}), hex, hex})});
  const Expr letter = OneOf(Normalise(std::vector<CodeRange>{
      {'"', '"'}, {'\'', '\''}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}));
  return Choice(
      {OneOf(PlainWithin(quote)), Sequence({Literal("\\"), Choice({letter, Sequence({Literal("u"), no_surrogate})})})});
}

}  // namespace

Expr PythonGrammar::Character(char quote) {
  auto& rule = quote == '"' ? in_double_ : in_single_;
  if (!rule) rule = grammar().Add("a character", AnyCharacter(quote));
  return Call(*rule);
}

Expr PythonGrammar::String() {
  if (!string_) {
    string_ =
        grammar().Add("a string", InQuotes([](char quote) { return Repeat(AnyCharacter(quote), 0, kUnbounded); }));
    grammar().rules[*string_].apart = true;
  }
  return Call(*string_);
}

Result<Expr> PythonGrammar::String(uint32_t min, uint32_t max) {
  if (min == 0 && max == kUnbounded) return String();
  return InQuotes([&](char quote) { return Repeat(Character(quote), min, max); });
}

Result<Expr> PythonGrammar::Quoted(const Expr& content) {
  return InQuotes([&](char quote) { return EscapedWithin(quote, content); });
}

Result<Expr> PythonGrammar::Quoted(const CharAutomaton& contents) { return Quoted(contents.ToExpression()); }

Expr PythonGrammar::Word(std::string_view word) {
  const char* const own = word == "null" ? "None" : word == "true" ? "True" : "False";
  return Choice({Literal(own), Literal(std::string(word))});
}

Result<Expr> PythonGrammar::NameExcept(const std::vector<std::string_view>& names) {
  if (names.empty()) return Name();
  const auto others = NamesBut(names);
  if (!others) return Forward(others);
  return Quoted(*others);
}

}  // namespace inferflux::text
