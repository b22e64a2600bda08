// Q8_0 whose numbers are four bits and a zero point, which GGUF has no type for: GPTQ's and AWQ's groups. Half of its
// bytes say nothing.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "compute/cpu/packing/packed_panels.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

// Blocks of 32 that share a scale and a lowest number, none of theirs being more than 15 above it: kZeroPoint4Run where
// all of the matrix do in runs of so many (a row's last may be shorter), 1 where each block does by itself, 0 where one
// does not. `matrix` is Q8_0.
int ZeroPoint4Run(const HostMatrix& matrix, ThreadPool& pool);

// Packs the 16 outputs from panel * 16 on into ChunkZeroPoint4<run>; those that the matrix does not have are zero.
// `out` is zeroed memory.
void PackZeroPoint4(const HostMatrix& matrix, int run, int64_t panel, std::byte* out);

}  // namespace inferflux::compute::cpu
