// What attention over latents needs beyond the span kernels. Included once per instruction set, after attention_inl.h.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/float_tile_inl.h"

namespace inferflux::compute::cpu {
namespace {

template <class T>
void UnpackLatents(const T* const* rows, const float* scales, int count, int64_t dim, float* keys, float* values) {
  const int64_t width = PaddedHead(dim);
  float spare[kLanes];
  for (int i = 0; i < count; ++i) {
    float* const lane = keys + i / kLanes * dim * kLanes + i % kLanes;
    const Floats scale = SetFloats(scales == nullptr ? 1.0f : scales[i]);
    for (int64_t d = 0; d < width; d += kLanes) {
      float* const to = values == nullptr ? spare : values + i * width + d;
      StoreFloats(to, Mul(LoadFloats(rows[i] + d), scale));
      const int64_t valid = std::min<int64_t>(kLanes, dim - d);
      for (int64_t l = 0; l < valid; ++l) lane[(d + l) * kLanes] = to[l];
    }
  }
}

inline void IndexScores(const float* q, const float* weights, int heads, int64_t dim, const float* keys, int count,
                        float* scores) {
  for (int first = 0; first < count; first += kLanes, keys += dim * kLanes) {
    float total[kLanes] = {};
    ForTiles<kFloatRows>(heads, [&]<int M>(int64_t head, int64_t /*tile*/) {
      FloatTile<M, 1> tile;
      tile.Clear();
      tile.Run(q + head * dim, dim, keys, kLanes, 0, dim);
      float products[M * kLanes];
      tile.Store(products, kLanes);
      for (int m = 0; m < M; ++m) {
        for (int l = 0; l < kLanes; ++l) total[l] += weights[head + m] * std::max(0.0f, products[m * kLanes + l]);
      }
    });
    std::copy_n(total, std::min(kLanes, count - first), scores + first);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
