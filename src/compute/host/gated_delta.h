// The gated delta rule in host memory.
#pragma once

#include <cstdint>

#include "compute/host/host_buffer.h"
#include "compute/host/states.h"
#include "compute/params.h"

namespace inferflux::compute::host {

struct DeltaInputs {
  View qkv, b, a, steps, coefficients;
};

// One value head of one sequence, token by token; RecurrentStates documents the formula. Stores the states that the
// batch names.
void GatedDeltaHead(const DeltaInputs& in, States& states, int32_t layer, const StepGeometry& batch, int32_t sequence,
                    int32_t head, const DeltaNetParams& params, Buffer& out);

}  // namespace inferflux::compute::host
