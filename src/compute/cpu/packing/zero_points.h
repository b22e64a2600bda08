// Which Q8_0 matrices are four bits and a zero point (weight_formats/zero_point_4.h).
#pragma once

#include "base/thread_pool.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

// Blocks of 32 that share a scale and a lowest number, no number being more than 15 above it: kZeroPoint4Run where the
// whole matrix consists of such runs (a row's last may be shorter), 1 where each block does so by itself, 0 where one
// does not. `matrix` is Q8_0.
int ZeroPoint4Run(const HostMatrix& matrix, ThreadPool& pool);

}  // namespace inferflux::compute::cpu
