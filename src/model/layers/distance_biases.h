// Biases of attention's scores by distance (T5, arXiv:1910.10683), as bidirectional encoders have them: near distances
// have a bucket each, far ones share buckets of growing width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace inferflux::model {

inline constexpr int32_t kDistanceBuckets = 32;

// The bucket of the distance from a query to a key; positive: the key comes later.
int32_t DistanceBucket(int32_t distance);

// `buckets`: [kDistanceBuckets, heads]. Returns [heads, 2 * context - 1]: a head's biases for the distances from
// -(context - 1) to context - 1.
std::vector<float> SpreadBuckets(std::span<const float> buckets, int32_t heads, int32_t context);

}  // namespace inferflux::model
