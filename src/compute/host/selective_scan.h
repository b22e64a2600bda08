// Mamba-2's selective scan in host memory.
#pragma once

#include <cstdint>

#include "compute/host/host_buffer.h"
#include "compute/host/states.h"
#include "compute/params.h"

namespace inferflux::compute::host {

struct ScanInputs {
  View xbc, dt, steps, coefficients, skips;
};

// One token of a head: state[i] = decay * state[i] + b[i] * x and y = sum of c[i] * state[i], in order, for i in
// [0, n); state: [n, width], x and y: width.
using ScanToken = void (*)(float* state, float decay, const float* b, const float* c, const float* x, float* y,
                           int64_t n, int64_t width);

void ScanTokenInOrder(float* state, float decay, const float* b, const float* c, const float* x, float* y, int64_t n,
                      int64_t width);

// One head of one sequence, token by token; SelectiveScans documents the formula. Stores the states that the batch
// names.
void SelectiveScanHead(const ScanInputs& in, States& states, int32_t layer, const StepGeometry& batch, int32_t sequence,
                       int32_t head, const StateSpaceParams& params, ScanToken scan, Buffer& out);

}  // namespace inferflux::compute::host
