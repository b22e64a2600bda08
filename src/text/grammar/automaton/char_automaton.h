// Regular languages over characters that can be intersected and subtracted: what a pattern and a length, or a name and
// the patterns that it must not match, leave together.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// A deterministic automaton. Immutable; state 0 is the start, and every state leads to a final one. No state: the empty
// language.
class CharAutomaton {
 public:
  static constexpr size_t kMaxStates = 4096;

  // Of an expression without calls: kInvalidArgument where it needs more states.
  static Result<CharAutomaton> Of(const Expression& expression);
  static CharAutomaton Everything();
  // Texts of so many characters; kInvalidArgument where that needs more states.
  static Result<CharAutomaton> OfLength(uint32_t min, uint32_t max);
  // Decimal numbers, a sign in front or none, that `divisor` divides.
  static CharAutomaton OfMultiples(uint32_t divisor);

  // What is in both, and what is in this one alone; kInvalidArgument as above.
  Result<CharAutomaton> And(const CharAutomaton& other) const { return Combine(other, true); }
  Result<CharAutomaton> Without(const CharAutomaton& other) const { return Combine(other, false); }

  bool empty() const { return states_.empty(); }
  bool Matches(std::string_view text) const;
  Expr ToExpression() const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Edge {
    CodeRange range;
    uint32_t to = 0;
  };
  struct State {
    std::vector<Edge> edges;  // ascending and apart
    bool final = false;
  };

  Result<CharAutomaton> Combine(const CharAutomaton& other, bool with) const;
  void Trim();

  std::vector<State> states_;
};

}  // namespace inferflux::text
