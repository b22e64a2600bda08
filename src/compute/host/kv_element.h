// A float as an element of a KV store.
#pragma once

#include <type_traits>

#include "base/half.h"

namespace inferflux::compute::host {

template <class T>
T KvElement(float value) {
  if constexpr (std::is_same_v<T, Fp16>) {
    return ToFp16(value);
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return ToBf16(value);
  } else {
    return value;
  }
}

}  // namespace inferflux::compute::host
