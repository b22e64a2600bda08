// Splits the merges of a vocabulary file, "left right", into their two halves.
#pragma once

#include <string_view>
#include <utility>

#include "base/result.h"

namespace inferflux::text {

// The halves are split at the first space after the first character, so a half may itself be a space.
inline Result<std::pair<std::string_view, std::string_view>> SplitMerge(std::string_view merge, size_t index) {
  const size_t space = merge.find(' ', 1);
  if (merge.empty() || space == std::string_view::npos || space + 1 == merge.size()) {
    return Fail(ErrorCode::kDataLoss, "merge {} of the vocabulary is '{}', which is not two pieces", index, merge);
  }
  return std::pair(merge.substr(0, space), merge.substr(space + 1));
}

}  // namespace inferflux::text
