// Creates MLX arrays from host memory.
#pragma once

#include <mlx/allocator.h>
#include <mlx/array.h>

#include <cstdint>
#include <span>

namespace inferflux::compute {

namespace mx = ::mlx::core;

inline int Int(int64_t value) { return static_cast<int>(value); }

// An array that `fill` writes, starting at its first element; uninitialised before.
template <class T, class Fill>
mx::array MakeArray(mx::Shape shape, mx::Dtype dtype, Fill fill) {
  size_t bytes = sizeof(T);
  for (const auto n : shape) bytes *= static_cast<size_t>(n);
  auto data = mx::allocator::malloc(bytes);
  mx::allocator::Buffer buffer = data.buffer();
  fill(static_cast<T*>(buffer.raw_ptr()));
  return mx::array(std::move(data), std::move(shape), dtype);
}

inline mx::array IndexArray(std::span<const int32_t> values) {
  return mx::array(values.data(), {Int(static_cast<int64_t>(values.size()))}, mx::int32);
}

}  // namespace inferflux::compute
