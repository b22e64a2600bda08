// Layers that carry a state from token to token (compute/recurrent_state.h). Each sequence's rows are walked one after
// the other, so that a row's result does not depend on how steps were cut.
#pragma once

#include "compute/cuda/device/language.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// Where a step reads and stores states, in device memory.
struct StateArrays {
  const int32_t* query_starts = nullptr;  // [sequences + 1]
  const int32_t* sequences = nullptr;     // [rows]: the sequence of each row
  const int32_t* from = nullptr;          // [sequences]: the slot that its rows begin with, or -1: zeros
  const int32_t* to = nullptr;            // [sequences]: the slot that its last row's state goes to
  const int32_t* marks = nullptr;         // [rows]: the slot that a row's state goes to in addition, or -1
  int32_t sequence_count = 0;
};

// One part of all states: [slots, size].
struct StatePart {
  float* values = nullptr;
  int64_t size = 0;

  __device__ float* Slot(int32_t slot) const { return values + slot * size; }
};

// y[r] = the sum of taps[t] * x[r - (count - 1) + t], in order of t; x [rows, width], taps [count, width]. Then stores
// the last count - 1 rows of x of each sequence, the oldest first. y is dense.
Status ShortConv(Rows<const float> x, const float* taps, int64_t count, const StatePart& state, const StateArrays& step,
                 float* y, Stream stream);

// The gated delta rule (arXiv:2412.06464); qkv [rows, keys, keys, values], b and a [rows, value_heads], steps and
// coefficients [value_heads], a state [value_heads, key_dim, value_dim]; y is dense [rows, values].
struct DeltaArguments {
  Rows<const float> qkv, b, a;
  const float* steps = nullptr;
  const float* coefficients = nullptr;
  compute::DeltaNetParams params;
  StatePart state;
  StateArrays step;
  float* y = nullptr;
};
Status GatedDelta(const DeltaArguments& arguments, Stream stream);

// Mamba-2 (arXiv:2405.21060); xbc [rows, inner, groups * state, groups * state], dt [rows, heads], steps, coefficients
// and skips [heads], a state [heads, state, head_dim]; y is dense [rows, inner].
struct ScanArguments {
  Rows<const float> xbc, dt;
  const float* steps = nullptr;
  const float* coefficients = nullptr;
  const float* skips = nullptr;
  compute::StateSpaceParams params;
  StatePart state;
  StateArrays step;
  float* y = nullptr;
};
Status SelectiveScan(const ScanArguments& arguments, Stream stream);

}  // namespace inferflux::cuda
