#include "engine/sampling/dry_penalty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace inferflux::engine {
namespace {

constexpr size_t kLongest = 50;  // longer repetitions get the same penalty: it is huge already

bool Breaks(const SamplingParams& params, TokenId id) { return std::ranges::count(params.dry_breakers, id) > 0; }

}  // namespace

void DryPenalty::Apply(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history) {
  if (params.dry_penalty_last_n >= 0) {
    history = history.last(std::min(history.size(), static_cast<size_t>(params.dry_penalty_last_n)));
  }
  if (history.empty()) return;
  // The passage that may be repeated: the end of the text, back to a breaker.
  size_t longest = 0;
  while (longest < std::min(kLongest, history.size()) && !Breaks(params, history[history.size() - 1 - longest])) {
    ++longest;
  }
  if (longest == 0) return;
  repeats_.resize(std::max(repeats_.size(), logits.size()));
  for (size_t next = 1; next < history.size(); ++next) {  // the token after an earlier passage
    size_t length = 0;
    while (length < std::min(longest, next) && history[next - 1 - length] == history[history.size() - 1 - length]) {
      ++length;
    }
    if (length == 0 || Breaks(params, history[next])) continue;
    int32_t& repeats = repeats_[static_cast<size_t>(history[next])];
    if (repeats == 0) continued_.push_back(history[next]);
    repeats = std::max(repeats, static_cast<int32_t>(length));
  }
  for (const TokenId id : continued_) {
    int32_t& repeats = repeats_[static_cast<size_t>(id)];
    if (repeats >= params.dry_allowed_length) {
      logits[static_cast<size_t>(id)] -=
          params.dry_multiplier * std::pow(params.dry_base, static_cast<float>(repeats - params.dry_allowed_length));
    }
    repeats = 0;
  }
  continued_.clear();
}

}  // namespace inferflux::engine
