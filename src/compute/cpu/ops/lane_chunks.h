// Activations with the rows in lanes, for products that take many rows at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/cpu/packing/packed_panels.h"

namespace inferflux::compute::cpu {

inline constexpr int kFewestLaneVectors = 3;

// Vectors that `rows` rows of a task, at most 64, are multiplied in, or 0 where they are too few. What fills less than
// half a vector is left to be multiplied row by row.
constexpr int64_t LaneVectorsOf(int64_t rows) {
  return rows < kFewestLaneVectors * kLaneRows ? 0 : (rows + kLaneRows / 2) / kLaneRows;
}

// One chunk of `rows` rows, quantised by chunk, as the RowLaneChunk<LaneVectorsOf(rows)> that `out` becomes;
// lanes without a row are zero.
void GatherLanes(const ActivationChunk* x, int64_t rows, std::byte* out);

}  // namespace inferflux::compute::cpu
