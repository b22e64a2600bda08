// A grammar as deterministic automata over bytes, one for each rule, that call each other: the input of a matcher.
// Knows nothing about tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// Immutable. The states of all rules share one numbering.
class CompiledGrammar {
 public:
  using State = uint32_t;
  static constexpr State kNoState = ~State{0};

  struct CallEdge {
    State start = 0;  // of the called rule, which matches at least one byte from here
    State then = 0;   // where its caller continues
  };
  // A rule that repeats another one. Its only state has no edges: the matcher counts.
  struct Counter {
    State body = 0;
    uint32_t min = 0;
    uint32_t max = 0;
  };

  // A rule that calls no other rule, and its automaton as bytes, which are equal if two rules match the same texts
  // state by state.
  struct PlainRule {
    State first = 0;
    std::string automaton;
  };

  // kInvalidArgument: a rule is left-recursive or never ends, or the grammar exceeds a limit; the message names it.
  static Result<std::shared_ptr<const CompiledGrammar>> Compile(const Grammar& grammar);

  State root() const { return root_; }
  size_t states() const { return facts_.size(); }
  uint32_t byte_classes() const { return byte_classes_; }
  // All states treat the bytes of one class alike.
  uint8_t ClassOf(uint8_t byte) const { return class_of_[byte]; }

  State Next(State state, uint8_t byte_class) const { return next_[size_t{state} * byte_classes_ + byte_class]; }
  std::span<const CallEdge> Calls(State state) const {
    return std::span(calls_).subspan(facts_[state].first_call, facts_[state].calls);
  }
  // Whether a byte can follow without a call.
  bool TakesBytes(State state) const { return facts_[state].takes_bytes; }
  // Whether the rule may end here; for a counter, only its count decides.
  bool IsFinal(State state) const { return facts_[state].final; }
  // Whether the rule must end here.
  bool IsLast(State state) const {
    return facts_[state].final && !facts_[state].takes_bytes && facts_[state].calls == 0;
  }
  // Null if the state's rule calls others, or is too large to be worth comparing.
  const PlainRule* PlainRuleOf(State state) const {
    return facts_[state].plain_rule == kNoState ? nullptr : &plain_rules_[facts_[state].plain_rule];
  }
  std::span<const PlainRule> plain_rules() const { return plain_rules_; }
  const Counter* CounterOf(State state) const {
    return facts_[state].counter == kNoState ? nullptr : &counters_[facts_[state].counter];
  }

 private:
  friend class AutomataBuilder;
  struct StateFacts {
    uint32_t first_call = 0;
    uint32_t calls = 0;
    uint32_t counter = kNoState;
    uint32_t plain_rule = kNoState;
    bool takes_bytes = false;
    bool final = false;
  };

  State root_ = 0;
  uint32_t byte_classes_ = 1;
  std::array<uint8_t, 256> class_of_{};
  std::vector<State> next_;  // [state][byte class]
  std::vector<StateFacts> facts_;
  std::vector<CallEdge> calls_;
  std::vector<Counter> counters_;
  std::vector<PlainRule> plain_rules_;
};

}  // namespace inferflux::text
