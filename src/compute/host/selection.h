// The positions that attention reads for each row of a step, on backends that compute in host memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace inferflux::compute::host {

struct Selection {
  std::vector<std::vector<int32_t>> rows;  // [rows]: ascending positions
};

// The indices of the `top` highest scores, ascending; the lower one on ties. NaN is the lowest score.
inline std::vector<int32_t> BestPositions(std::span<const float> scores, int32_t top) {
  std::vector<int32_t> best(scores.size());
  std::iota(best.begin(), best.end(), 0);
  const auto kept = static_cast<size_t>(top);
  if (best.size() <= kept) return best;
  const auto before = [&](int32_t a, int32_t b) {
    const float score = scores[static_cast<size_t>(a)], other = scores[static_cast<size_t>(b)];
    if (std::isnan(score) || std::isnan(other))
      return std::isnan(score) == std::isnan(other) ? a < b : std::isnan(other);
    return score != other ? score > other : a < b;
  };
  std::nth_element(best.begin(), best.begin() + top, best.end(), before);
  best.resize(kept);
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace inferflux::compute::host
