// A matrix for each head, as one matmul for each: a head's result does not depend on the other heads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"

namespace inferflux::compute::host {

// x [rows, heads * inputs] to [rows, heads * outputs]; heads: matrices [outputs, inputs]. matmul(View, matrix) is the
// backend's own.
template <class Heads, class MatMul>
Buffer HeadMatMul(Arena& arena, View x, const Heads& heads, MatMul matmul) {
  const int64_t inputs = heads.front().cols, outputs = heads.front().rows;
  Buffer out = arena.Allocate(x.rows, std::ssize(heads) * outputs);
  for (int64_t h = 0; h < std::ssize(heads); ++h) {
    const Buffer result = matmul(Columns(x, h * inputs, inputs), heads[static_cast<size_t>(h)]);
    for (int64_t r = 0; r < x.rows; ++r) std::copy_n(View(result).row(r), outputs, out.row(r) + h * outputs);
  }
  return out;
}

}  // namespace inferflux::compute::host
