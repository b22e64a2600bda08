#include "text/tool_calls/grammar/marker_grammar.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/control_literal.h"

namespace inferflux::text {
namespace {

constexpr uint32_t kMaxWord = 16;  // characters of an id that a model invents

Expr Word() { return Repeat(OneOf({{'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}), 1, kMaxWord); }

// The first of `names` in the text, and its position; npos if there is none.
std::pair<size_t, std::string_view> FirstOf(const std::vector<std::string>& names, std::string_view text) {
  std::pair<size_t, std::string_view> out = {std::string_view::npos, {}};
  for (const std::string& name : names) out = std::min(out, {text.find(name), name});
  return out;
}

void AddText(std::string_view text, const MarkerTokens& tokens, std::vector<Expr>& out) {
  while (!text.empty()) {
    const auto control = FirstOf(tokens.control, text), end = FirstOf(tokens.ends, text);
    const auto [at, name] = std::min(control, end);
    if (at == std::string_view::npos) break;
    if (at > 0) out.push_back(Literal(std::string(text.substr(0, at))));
    if (control < end) out.push_back(ControlLiteral(name));
    text.remove_prefix(at + name.size());
  }
  if (!text.empty()) out.push_back(Literal(std::string(text)));
}

Expr AnyText() { return Repeat(OneOf(Complement({})), 0, kUnbounded); }
Expr AnySpace() {
  return Repeat(OneOf(Normalise(std::vector<CodeRange>{{' ', ' '}, {'\t', '\n'}, {'\r', '\r'}})), 0, kUnbounded);
}

}  // namespace

Expr MarkerGrammar(std::string_view marker, const MarkerTokens& tokens, JsonGrammar& json) {
  std::vector<Expr> out;
  while (!marker.empty()) {
    const size_t special = std::min(marker.find_first_of("\n*"), marker.size());
    AddText(marker.substr(0, special), tokens, out);
    marker.remove_prefix(special);
    if (marker.empty()) break;
    out.push_back(marker[0] == '\n' ? json.Space() : Word());
    marker.remove_prefix(1);
  }
  return Sequence(std::move(out));
}

Result<CharAutomaton> TextWithout(std::string_view text) {
  const auto with = CharAutomaton::Of(*Sequence({AnyText(), Literal(std::string(text)), AnyText()}));
  return with ? CharAutomaton::Everything().Without(*with) : with;
}

Result<Expr> TextWithoutCalls(const ToolCallSyntax& syntax) {
  std::string_view opens = FirstMarker(syntax);
  opens = opens.substr(0, opens.find_first_of("\n*"));
  Expr calls = Sequence({AnyText(), Literal(std::string(opens)), AnyText()});
  if (syntax.bare) {
    const auto key = [&](std::string_view name) { return Literal('"' + std::string(name) + '"'); };
    calls = Choice(
        {std::move(calls), Sequence({AnySpace(), Literal("{"), AnySpace(), Choice({key(syntax.name_key), key("type")}),
                                     AnySpace(), Literal(":"), AnyText()})});
  }
  auto with = CharAutomaton::Of(*calls);
  if (!with) return Forward(with);
  auto without = CharAutomaton::Everything().Without(*with);
  if (!without) return Forward(without);
  return without->ToExpression();
}

}  // namespace inferflux::text
