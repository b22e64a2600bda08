// How many plain characters may follow a position of a grammar, whatever they are. Plain characters are those that JSON
// writes without an escape. Inside a string nearly all tokens consist of them, so a mask need not try each one (the
// idea of llguidance's slices, M. Moskal et al.).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/automaton/compiled_grammar.h"
#include "text/grammar/automaton/pushdown.h"

namespace inferflux::text {

struct PlainRun {
  uint32_t least = 0;  // any text of up to that many plain characters fits, and the innermost rules do not end in it
  uint32_t most = kUnbounded;  // no text of more plain characters fits
};

// Immutable: any thread.
class PlainRuns {
 public:
  explicit PlainRuns(const CompiledGrammar& grammar);

  // `frames`: the innermost rules, innermost first. Looks `limit` characters ahead: a greater `least` is kUnbounded.
  PlainRun Of(std::span<const Pushdown::Frame> frames, uint32_t limit) const;

 private:
  using State = CompiledGrammar::State;

  // One plain character after a state: whether every one fits, and the states of the rule that it leads to.
  struct Step {
    bool every = true;
    std::vector<State> to;
  };
  Step After(State state) const;  // also by calls of rules that read any one character
  Step WithoutCalls(State state) const;
  bool ReadsAnyOne(State start) const;
  bool BeginsCounter(State state) const;
  PlainRun OfCounter(std::span<const Pushdown::Frame> frames) const;

  const CompiledGrammar& grammar_;
  std::vector<std::vector<std::vector<uint8_t>>> forms_;  // of plain characters in UTF-8: the byte classes of each byte
};

}  // namespace inferflux::text
