// The epsilon closure of a set of states of a nondeterministic automaton.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace inferflux::text {

// Adds to `set` the states that its states reach without reading anything; afterwards it is ascending and without
// duplicates. `seen`: one entry for each state, all false before and after. Nfa::states[i].empty lists the states after
// the empty edges of state i.
template <class Nfa>
void CloseOverEmpty(const Nfa& nfa, std::vector<uint32_t>& set, std::vector<bool>& seen) {
  std::erase_if(set, [&](uint32_t state) { return seen[state] ? true : (seen[state] = true, false); });
  for (size_t i = 0; i < set.size(); ++i) {
    for (const uint32_t to : nfa.states[set[i]].empty) {
      if (seen[to]) continue;
      seen[to] = true;
      set.push_back(to);
    }
  }
  for (const uint32_t state : set) seen[state] = false;
  std::ranges::sort(set);
}

}  // namespace inferflux::text
