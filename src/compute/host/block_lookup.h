// The slot of a sequence's position, for stores that number their slots block * block_size + offset.
#pragma once

#include <cstdint>

#include "compute/params.h"

namespace inferflux::compute::host {

inline int64_t SlotOf(const StepGeometry& step, int32_t sequence, int32_t position) {
  const int32_t block = step.block_tables[step.table_starts[sequence] + position / step.block_size];
  return int64_t{block} * step.block_size + position % step.block_size;
}

}  // namespace inferflux::compute::host
