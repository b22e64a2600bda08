// Floats as elements of a KV store.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "compute/kv_types.h"

namespace inferflux::compute::host {

template <class T>
T KvElement(float value) {
  if constexpr (std::is_same_v<T, Fp16>) {
    return ToFp16(value);
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return ToBf16(value);
  } else if constexpr (std::is_same_v<T, Fp8>) {
    return ToFp8(value);
  } else if constexpr (std::is_same_v<T, int8_t>) {
    if (!(value > -127.0f)) return -127;  // NaN too
    return static_cast<int8_t>(std::nearbyint(std::min(value, 127.0f)));
  } else {
    return value;
  }
}

// The scale that the values of one token and head are divided by when stored: 1 for types without scales.
template <class T>
float KvScale(const float* values, int32_t count) {
  if constexpr (!kStoredWithScales<T>) return 1.0f;
  float most = 0.0f;
  for (int32_t i = 0; i < count; ++i) most = std::max(most, std::abs(values[i]));
  return most > 0.0f ? most / 127.0f : 1.0f;
}

}  // namespace inferflux::compute::host
