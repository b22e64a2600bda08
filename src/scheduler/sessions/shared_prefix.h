// How much of a prompt a session has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace inferflux::scheduler {

// How many of `known`'s tokens the session has, not counting the last one.
inline size_t SharedPrefix(const std::vector<TokenId>& tokens, std::span<const TokenId> known) {
  if (known.empty()) return 0;
  return static_cast<size_t>(std::ranges::mismatch(tokens, known.first(known.size() - 1)).in1 - tokens.begin());
}

}  // namespace inferflux::scheduler
