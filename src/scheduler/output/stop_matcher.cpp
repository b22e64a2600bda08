#include "scheduler/output/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace inferflux::scheduler {

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const auto& stop : stops) {
    Automaton automaton{.stop = stop, .fallback = std::vector<size_t>(stop.size(), 0)};
    for (size_t i = 1; i < stop.size(); ++i) {
      size_t length = automaton.fallback[i - 1];
      while (length > 0 && stop[i] != stop[length]) length = automaton.fallback[length - 1];
      automaton.fallback[i] = length + (stop[i] == stop[length] ? 1 : 0);
    }
    automata_.push_back(std::move(automaton));
  }
}

void StopMatcher::Automaton::Take(char byte) {
  while (seen > 0 && stop[seen] != byte) seen = fallback[seen - 1];
  if (stop[seen] == byte) ++seen;
}

std::string StopMatcher::Push(std::string_view text) {
  if (matched_) return {};
  for (const char byte : text) {
    held_.push_back(byte);
    const std::string* found = nullptr;
    for (auto& automaton : automata_) {
      automaton.Take(byte);
      if (automaton.seen < automaton.stop.size()) continue;
      if (found == nullptr || found->size() < automaton.stop.size()) found = &automaton.stop;
    }
    if (found != nullptr) {
      matched_ = *found;
      held_.resize(held_.size() - found->size());
      return std::exchange(held_, {});
    }
  }
  size_t undecided = 0;
  for (const auto& automaton : automata_) undecided = std::max(undecided, automaton.seen);
  std::string certain = held_.substr(0, held_.size() - undecided);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopMatcher::Finish() { return std::exchange(held_, {}); }

}  // namespace inferflux::scheduler
