#include "model/layers/distance_biases.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace inferflux::model {

int32_t DistanceBucket(int32_t distance) {
  constexpr int32_t kHalf = kDistanceBuckets / 2, kExact = kHalf / 2, kFarthest = 128;
  const int32_t side = distance > 0 ? kHalf : 0;
  const int32_t n = std::abs(distance);
  if (n < kExact) return side + n;
  // In single precision and in this order, as the models were trained.
  const float share = std::log(static_cast<float>(n) / static_cast<float>(kExact)) /
                      static_cast<float>(std::log(static_cast<double>(kFarthest) / kExact));
  const auto far = kExact + static_cast<int32_t>(share * static_cast<float>(kHalf - kExact));
  return side + std::min(far, kHalf - 1);
}

std::vector<float> SpreadBuckets(std::span<const float> buckets, int32_t heads, int32_t context) {
  std::vector<float> out;
  out.reserve(static_cast<size_t>(heads) * (2 * static_cast<size_t>(context) - 1));
  for (int32_t head = 0; head < heads; ++head) {
    for (int32_t distance = 1 - context; distance < context; ++distance) {
      out.push_back(buckets[static_cast<size_t>(DistanceBucket(distance)) * static_cast<size_t>(heads) +
                            static_cast<size_t>(head)]);
    }
  }
  return out;
}

}  // namespace inferflux::model
