// Finds Q8_0 matrices that fit into 4 bits with a zero point (weight_formats/zero_point_4.h).
#pragma once

#include "base/thread_pool.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

// Returns how many blocks of 32 share a scale and a minimum, with no number more than 15 above it: kZeroPoint4Run if
// the whole matrix consists of such runs (a row's last may be shorter), 1 if each block fits by itself, 0 if one does
// not. `matrix` is Q8_0.
int ZeroPoint4Run(const HostMatrix& matrix, ThreadPool& pool);

}  // namespace inferflux::compute::cpu
