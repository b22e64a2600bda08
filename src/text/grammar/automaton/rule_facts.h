// Properties of a grammar's rules that must be known before automata are built.
#pragma once

#include <vector>

#include "text/grammar/expression.h"

namespace inferflux::text {

struct RuleFacts {
  // By rule.
  std::vector<bool> nullable;    // matches the empty text
  std::vector<bool> productive;  // matches some text: it terminates
  std::vector<bool>
      inlined;  // inlined into the rules that call it: it calls no recursive rule, and is small or called once
};

RuleFacts FactsOf(const Grammar& grammar);

bool IsNullable(const Expression& expression, const std::vector<bool>& nullable_rules);
bool IsProductive(const Expression& expression, const std::vector<bool>& productive_rules);

// Roughly the number of automaton states that it needs; stops counting at `limit`.
uint32_t SizeOf(const Expression& expression, uint32_t limit);

}  // namespace inferflux::text
