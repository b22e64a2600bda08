// A grammar for values as Python literals, as ValueReader parses them (ValueSyntax::kPython).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/grammar/json_schema/json_grammar.h"

namespace inferflux::text {

// Strings have quotes of either kind; literals such as true are Python's or JSON's.
class PythonGrammar final : public JsonGrammar {
 public:
  Expr String() override;
  Result<Expr> String(uint32_t min, uint32_t max) override;
  Result<Expr> Quoted(const Expr& content) override;
  Result<Expr> Quoted(const CharAutomaton& contents) override;
  Expr Word(std::string_view word) override;
  Result<Expr> NameExcept(const std::vector<std::string_view>& names) override;

 private:
  Expr Character(char quote);

  std::optional<RuleId> string_, in_double_, in_single_;
};

}  // namespace inferflux::text
