// Selects the experts for each row of a step, for the backends that compute in host memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"
#include "compute/params.h"

namespace inferflux::compute::host {

// Line l = row * used + choice.
struct Routing {
  int32_t rows = 0;
  int32_t used = 0;
  std::vector<int32_t> experts;  // [rows * used]
  std::vector<float> weights;    // [rows * used]

  int64_t lines() const { return static_cast<int64_t>(experts.size()); }
  // The row of x that line `line` reads; x has one row for each row of the step, or one for each line.
  int64_t source(View x, int64_t line) const { return x.rows == lines() ? line : line / used; }
};

// Each row takes the `used` best experts. `biases`: [1, experts], or null. Sums are sums of doubles in index order.
Routing Route(View logits, const RoutingParams& params, const View* biases = nullptr);

Buffer AddExpertBias(Arena& arena, View x, View biases, const Routing& routing);
Buffer ScaleExpertColumns(Arena& arena, View x, View scales, const Routing& routing);
Buffer Combine(Arena& arena, View x, const Routing& routing);
Buffer GateRows(Arena& arena, View x, View logits);

}  // namespace inferflux::compute::host
