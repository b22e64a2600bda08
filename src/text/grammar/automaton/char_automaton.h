// Regular languages over characters, with intersection and difference: what a pattern and a length allow together, or a
// name and the patterns that it must not match.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// A deterministic automaton. Immutable; state 0 is the start, and every state leads to a final one. Without states: the
// empty language.
class CharAutomaton {
 public:
  static constexpr size_t kMaxStates = 16'384;

  // From an expression without calls. kInvalidArgument if it needs more states.
  static Result<CharAutomaton> Of(const Expression& expression);
  static CharAutomaton Everything();
  // Texts with that many characters. kInvalidArgument if that needs more states.
  static Result<CharAutomaton> OfLength(uint32_t min, uint32_t max);
  // Decimal numbers, with or without a sign, that are multiples of divisor / 10^places.
  static CharAutomaton OfMultiples(uint32_t divisor, uint32_t places);

  // The intersection, and the difference. kInvalidArgument as above.
  Result<CharAutomaton> And(const CharAutomaton& other) const { return Combine(other, true); }
  Result<CharAutomaton> Without(const CharAutomaton& other) const { return Combine(other, false); }

  bool empty() const { return states_.empty(); }
  // States that were computed for it, and for the automata that it was combined of: a measure of time.
  size_t work() const { return work_; }
  bool Matches(std::string_view text) const;
  Expr ToExpression() const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Edge {
    CodeRange range;
    uint32_t to = 0;
  };
  struct State {
    std::vector<Edge> edges;  // ascending and disjoint
    bool final = false;
  };

  Result<CharAutomaton> Combine(const CharAutomaton& other, bool with) const;
  void Trim();

  std::vector<State> states_;
  size_t work_ = 0;
};

}  // namespace inferflux::text
