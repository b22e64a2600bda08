// Several neighbours in memory that a thread loads or stores at once.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "compute/cuda/device/half.h"

namespace inferflux::cuda {

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T x[kCount];
};

// Elements of T in 16 bytes, the widest access.
template <class T>
inline constexpr int kWidest = 16 / sizeof(T);

// Whether rows of `columns` elements, `strides` apart, can be accessed in packs of `count`.
template <class T>
bool Packs(int count, int64_t columns, std::initializer_list<int64_t> strides,
           std::initializer_list<const void*> data) {
  bool fits = columns % count == 0;
  for (const int64_t stride : strides) fits = fits && stride % count == 0;
  for (const void* at : data) fits = fits && reinterpret_cast<uintptr_t>(at) % (sizeof(T) * count) == 0;
  return fits;
}

}  // namespace inferflux::cuda
