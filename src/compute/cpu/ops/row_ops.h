// Runs an operation on the rows of a step, on the thread pool if there is enough work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compute/cpu/cpu_backend.h"

namespace inferflux::compute::cpu {

// Minimum floats per core before another one is woken.
inline constexpr int64_t kRowGrain = 1 << 14;

// f(row) for [0, rows) of `cols` floats each.
template <class F>
void ForRows(Cpu::Context& context, int64_t rows, int64_t cols, const F& f) {
  const int64_t grain = std::max<int64_t>(1, kRowGrain / std::max<int64_t>(1, cols));
  context.pool.ParallelFor(rows, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) f(r);
  });
}

// A result of x's shape: calls f(row, output) for each row.
template <class F>
host::Buffer MapRows(Cpu::Context& context, host::View x, const F& f) {
  host::Buffer out = context.arena.Allocate(x.rows, x.cols);
  ForRows(context, x.rows, x.cols, [&](int64_t r) { f(r, out.row(r)); });
  return out;
}

}  // namespace inferflux::compute::cpu
