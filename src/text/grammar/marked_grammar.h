// Values with strings between marks, as ValueReader reads them (ValueSyntax::kMarked).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// A string has no escapes: it holds anything but the mark. Names of members stand without marks, so they are letters,
// digits and "_-.$@/" alone.
class MarkedGrammar final : public JsonGrammar {
 public:
  // `texts`: those without the mark.
  MarkedGrammar(const ToolCallForm& form, const MarkerTokens& tokens, CharAutomaton texts);

  Expr String() override;
  // A long one that is counted has none of the mark's second characters: counting as well as looking for the mark would
  // take too many states.
  Result<Expr> String(uint32_t min, uint32_t max) override;
  Result<Expr> Quoted(const Expr& content) override;
  Result<Expr> Quoted(const CharAutomaton& contents) override;
  Expr Word(std::string_view word) override;
  Expr Name() override;
  Result<Expr> Name(std::string_view name) override;
  Result<Expr> NameExcept(const std::vector<std::string_view>& names) override;
  Result<Expr> NameIn(const CharAutomaton& names) override;

 private:
  Expr Enclosed(Expr content) const;

  const std::string mark_;
  const CharAutomaton texts_;
  Expr mark_grammar_;
  std::optional<RuleId> string_, name_;
};

}  // namespace inferflux::text
