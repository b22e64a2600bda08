// Which states of a nondeterministic automaton come with one that is reached: those behind edges that read nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace inferflux::text {

// Adds to `set` what its states reach without reading anything; ascending then, each state once. `seen`: one for each
// state, all false, and left so. Nfa::states[i].empty are the states behind such edges of state i.
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
