// Converts an expression to a nondeterministic automaton over bytes and calls (K. Thompson, "Regular expression search
// algorithm", CACM 11(6), 1968).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/rule_facts.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

struct Nfa {
  struct ByteEdge {
    ByteRange bytes;
    uint32_t to = 0;
  };
  struct CallEdge {
    RuleId rule = 0;
    uint32_t to = 0;
  };
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<CallEdge> calls;
    std::vector<uint32_t> empty;  // reached without a byte
  };

  std::vector<State> states;  // the first is the start
  uint32_t end = 0;           // the only final state
};

// A rule without a name in its grammar: the body of a repetition that is too long to be written out, or its counter.
struct CountedRule {
  Expr body;        // null: this is the counter
  RuleId rule = 0;  // of the counter: the rule that it counts
  uint32_t min = 0;
  uint32_t max = 0;
};

class NfaBuilder {
 public:
  // All arguments must outlive the builder. Calls of rules that never end are omitted. `limit` bounds the number of all
  // states.
  NfaBuilder(const Grammar& grammar, RuleFacts& facts, std::vector<CountedRule>& counted, size_t limit)
      : grammar_(grammar), facts_(facts), counted_(counted), limit_(limit) {}

  // kInvalidArgument if the limit is exceeded.
  Result<Nfa> Build(const Expression& expression);

 private:
  uint32_t Add(const Expression& expression, uint32_t from);
  uint32_t AddClass(const CodeRanges& set, uint32_t from);
  uint32_t AddAutomaton(const Expression& automaton, uint32_t from);
  uint32_t AddRepeat(const Expression& repeat, uint32_t from);
  uint32_t AddCall(RuleId rule, uint32_t from);
  RuleId Count(const Expression& repeat);
  uint32_t NewState();
  void Link(uint32_t from, uint32_t to) { nfa_.states[from].empty.push_back(to); }

  const Grammar& grammar_;
  RuleFacts& facts_;
  std::vector<CountedRule>& counted_;
  size_t limit_;
  size_t used_ = 0;
  bool overflowed_ = false;
  Nfa nfa_;
};

}  // namespace inferflux::text
