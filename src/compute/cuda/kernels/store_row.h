// How a row of floats becomes a row of the KV store.
#pragma once

#include <cmath>
#include <cstdint>

#include "compute/cuda/device/half.h"
#include "compute/cuda/device/warp.h"
#include "compute/kv_types.h"

namespace inferflux::cuda {

template <class S>
__device__ inline S StoredAs(float value) {
  if constexpr (compute::kStoredWithScales<S>) {
    return static_cast<int8_t>(rintf(fminf(fmaxf(value, -127.0f), 127.0f)));  // fmaxf makes -127 of what is no number
  } else {
    return FromFloat<S>(value);
  }
}

// A warp stores one row as the `to`th of the store: value(d) for each of its `width` dimensions.
template <class S, class F>
__device__ inline void StoreRow(const F& value, int width, int64_t to, S* values, float* scales) {
  float scale = 1.0f;
  if constexpr (compute::kStoredWithScales<S>) {
    float largest = 0.0f;
    for (int d = Lane(); d < width; d += kWarpSize) largest = fmaxf(largest, fabsf(value(d)));
    largest = WarpMax(largest);
    if (largest > 0.0f) scale = largest / 127.0f;
    if (Lane() == 0) scales[to] = scale;
  }
  for (int d = Lane(); d < width; d += kWarpSize) values[to * width + d] = StoredAs<S>(value(d) / scale);
}

}  // namespace inferflux::cuda
