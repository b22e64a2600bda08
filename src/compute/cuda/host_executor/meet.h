// How the lanes of a warp meet.
#pragma once

#include "compute/cuda/host_executor/run.h"

namespace inferflux::cuda::executor {

// Runs in the last lane, once all lanes of the meeting's mask have brought their operands.
using Combine = void (*)(Run& run, Warp& warp, const Meeting& meeting);

// Waits until every lane of the mask has made the same call. Faults where that cannot be.
void Meet(WarpOperation operation, unsigned mask, Site site, void* operand, Combine combine);
// For instructions that are .aligned: all 32 lanes.
void MeetAligned(WarpOperation operation, Site site, void* operand, Combine combine);

}  // namespace inferflux::cuda::executor
