// A grammar for values with strings between marks, as ValueReader parses them (ValueSyntax::kMarked), or as the text of
// elements.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/json_schema/json_grammar.h"

namespace inferflux::text {

// A string has no escapes: it contains anything but the mark. Names of members have no marks, so they consist of
// letters, digits and "_-.$@/" only.
class MarkedGrammar final : public JsonGrammar {
 public:
  // `around` precedes and follows a string; `texts` excludes it.
  MarkedGrammar(std::string_view mark, Expr around, CharAutomaton texts)
      : mark_(mark), around_(std::move(around)), texts_(std::move(texts)) {}

  Expr String() override;
  // A long string with a length limit excludes one character of the mark, such as '|': counting and searching for the
  // mark at the same time would need too many states.
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
  const Expr around_;
  const CharAutomaton texts_;
  std::optional<RuleId> string_, name_;
};

}  // namespace inferflux::text
