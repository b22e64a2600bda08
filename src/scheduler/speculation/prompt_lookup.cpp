#include "scheduler/speculation/prompt_lookup.h"

#include <algorithm>
#include <cstddef>

namespace inferflux::scheduler {
namespace {

constexpr size_t kShortest = 2;  // a match of one token is everywhere
constexpr size_t kLongest = 8;   // a longer match adds nothing

// How many tokens before `end` equal the last ones.
size_t MatchBefore(std::span<const TokenId> tokens, size_t end) {
  size_t length = 0;
  while (length < std::min(kLongest, end) && tokens[end - 1 - length] == tokens[tokens.size() - 1 - length]) ++length;
  return length;
}

}  // namespace

std::vector<TokenId> LookUpDraft(std::span<const TokenId> tokens, int32_t count) {
  size_t best = 0;
  size_t best_length = kShortest - 1;
  for (size_t end = tokens.size(); end-- > kShortest && best_length < kLongest;) {
    const size_t length = MatchBefore(tokens, end);
    if (length <= best_length) continue;
    best = end;
    best_length = length;
  }
  if (best == 0) return {};
  const auto draft = tokens.subspan(best, std::min(static_cast<size_t>(count), tokens.size() - best));
  return {draft.begin(), draft.end()};
}

}  // namespace inferflux::scheduler
