#include "text/grammar/automaton/rule_facts.h"

#include <algorithm>
#include <cstddef>

#include "base/function_ref.h"

namespace inferflux::text {
namespace {

using Kind = Expression::Kind;

constexpr uint32_t kTiny = 8;  // states of a rule that is copied to wherever it is called

void ForEachCall(const Expression& expression, FunctionRef<void(RuleId)> take) {
  if (expression.kind == Kind::kCall) take(expression.rule);
  for (const Expr& part : expression.parts) ForEachCall(*part, take);
}

// The least fixed point: `holds` for a rule may use what is known about the others.
std::vector<bool> Fixpoint(const Grammar& grammar,
                           FunctionRef<bool(const Expression&, const std::vector<bool>&)> holds) {
  std::vector<bool> known(grammar.rules.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t rule = 0; rule < known.size(); ++rule) {
      if (known[rule] || !holds(*grammar.rules[rule].body, known)) continue;
      known[rule] = true;
      changed = true;
    }
  }
  return known;
}

bool CallsOnly(const Expression& expression, const std::vector<bool>& rules) {
  bool only = true;
  ForEachCall(expression, [&](RuleId rule) { only = only && rules[rule]; });
  return only;
}

}  // namespace

bool IsNullable(const Expression& expression, const std::vector<bool>& nullable_rules) {
  const auto nullable = [&](const Expr& part) { return IsNullable(*part, nullable_rules); };
  switch (expression.kind) {
    case Kind::kText:
      return expression.text.empty();
    case Kind::kClass:
      return false;
    case Kind::kSequence:
      return std::ranges::all_of(expression.parts, nullable);
    case Kind::kChoice:
      return std::ranges::any_of(expression.parts, nullable);
    case Kind::kRepeat:
      return expression.min == 0 || nullable(expression.parts[0]);
    case Kind::kCall:
      return nullable_rules[expression.rule];
    case Kind::kAutomaton:
      return !expression.finals.empty() && expression.finals[0];
  }
  return false;
}

bool IsProductive(const Expression& expression, const std::vector<bool>& productive_rules) {
  const auto productive = [&](const Expr& part) { return IsProductive(*part, productive_rules); };
  switch (expression.kind) {
    case Kind::kText:
      return true;
    case Kind::kClass:
      return !expression.ranges.empty();
    case Kind::kSequence:
      return std::ranges::all_of(expression.parts, productive);
    case Kind::kChoice:
      return std::ranges::any_of(expression.parts, productive);
    case Kind::kRepeat:
      return expression.min == 0 || productive(expression.parts[0]);
    case Kind::kCall:
      return productive_rules[expression.rule];
    case Kind::kAutomaton:
      return !expression.finals.empty();
  }
  return false;
}

uint32_t SizeOf(const Expression& expression, uint32_t limit) {
  uint64_t size = 1;
  switch (expression.kind) {
    case Kind::kText:
      size = expression.text.size();
      break;
    case Kind::kClass:
      if (expression.ranges.size() > 0 && expression.ranges.back().last > 0x7F) size = 8;
      break;
    case Kind::kSequence:
    case Kind::kChoice:
    case Kind::kAutomaton:
      for (const Expr& part : expression.parts) {
        if (size < limit) size += SizeOf(*part, limit);
      }
      break;
    case Kind::kRepeat: {
      const uint32_t times = expression.max == kUnbounded ? expression.min + 1 : expression.max;
      size += uint64_t{SizeOf(*expression.parts[0], limit)} * times;
      break;
    }
    case Kind::kCall:
      break;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(size, limit));
}

RuleFacts FactsOf(const Grammar& grammar) {
  using Rules = std::vector<bool>;
  RuleFacts facts;
  facts.nullable =
      Fixpoint(grammar, [](const Expression& body, const Rules& known) { return IsNullable(body, known); });
  facts.productive =
      Fixpoint(grammar, [](const Expression& body, const Rules& known) { return IsProductive(body, known); });
  // Calls that lead to no recursion.
  facts.inlined = Fixpoint(grammar, [](const Expression& body, const Rules& known) { return CallsOnly(body, known); });
  std::vector<uint32_t> sites(grammar.rules.size());
  for (const GrammarRule& rule : grammar.rules) ForEachCall(*rule.body, [&](RuleId called) { ++sites[called]; });
  for (size_t rule = 0; rule < sites.size(); ++rule) {
    bool calls = false;
    ForEachCall(*grammar.rules[rule].body, [&](RuleId) { calls = true; });
    const bool tiny = !calls && SizeOf(*grammar.rules[rule].body, kTiny + 1) <= kTiny;
    if (grammar.rules[rule].apart || (sites[rule] != 1 && !tiny)) facts.inlined[rule] = false;
  }
  return facts;
}

}  // namespace inferflux::text
