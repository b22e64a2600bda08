// Operations that work on the rows of a step, in float. Matrices are row-major; a view's rows are `stride` elements
// apart.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "base/result.h"
#include "compute/cuda/runtime.h"
#include "compute/params.h"

namespace inferflux::cuda {

// [rows, columns] in device memory.
template <class T>
struct Rows {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
};

// y = x / sqrt(mean(x^2) + epsilon) * weight (arXiv:1910.07467), each run of `width` columns by itself; y is dense.
struct RmsNormParams {
  Rows<const float> x;
  const float* weight = nullptr;  // [width]
  int64_t width = 0;              // divides the columns
  float epsilon = 0.0f;
  float* y = nullptr;
};
Status RmsNorm(const RmsNormParams& params, Stream stream);

// sum = a + b and y = RmsNorm(sum) over whole rows, with the bits of Add and RmsNorm; both are dense.
struct AddRmsNormParams {
  Rows<const float> a, b;
  const float* weight = nullptr;  // [columns]
  float epsilon = 0.0f;
  float* sum = nullptr;
  float* y = nullptr;
};
Status AddRmsNorm(const AddRmsNormParams& params, Stream stream);

// y = (x - mean(x)) / sqrt(var(x) + epsilon) * weight + bias, over whole rows (arXiv:1607.06450); y is dense.
Status LayerNorm(Rows<const float> x, const float* weight, const float* bias, float epsilon, float* y, Stream stream);

// Rotates x [rows, heads * head_dim] by angles [rows, 2 * pairs], cosines first (arXiv:2104.09864). y is dense;
// dimensions beyond the rotated ones pass.
Status Rope(Rows<const float> x, const float* angles, int32_t pairs, const compute::RopeParams& params, float* y,
            Stream stream);

// y = act(gate) * up, and y = act(x); y is dense.
Status Gate(Rows<const float> gate, Rows<const float> up, compute::Activation activation, float* y, Stream stream);
Status Activate(Rows<const float> x, compute::Activation activation, float* y, Stream stream);
// The same gate, rounded.
Status Gate(Rows<const float> gate, Rows<const float> up, compute::Activation activation, Bf16* y, Stream stream);

// Element by element, with y of x's shape: x * factor; a + b; a * b; x + bias [columns]; x * scales [columns];
// x * scales [rows]; cap * tanh(x / cap); x * sigmoid(logits [rows], which are `logit_stride` elements apart).
Status Scale(Rows<const float> x, float factor, Rows<float> y, Stream stream);
Status Add(Rows<const float> a, Rows<const float> b, Rows<float> y, Stream stream);
Status Multiply(Rows<const float> a, Rows<const float> b, Rows<float> y, Stream stream);
Status AddBias(Rows<const float> x, const float* bias, Rows<float> y, Stream stream);
Status ScaleColumns(Rows<const float> x, const float* scales, Rows<float> y, Stream stream);
Status ScaleRows(Rows<const float> x, const float* scales, Rows<float> y, Stream stream);
Status SoftCap(Rows<const float> x, float cap, Rows<float> y, Stream stream);
Status GateRows(Rows<const float> x, const float* logits, int64_t logit_stride, Rows<float> y, Stream stream);

// cos and sin of position * frequency, times magnitude: [rows, 2 * pairs], cosines first. Positions are below 2^24,
// which floats hold exactly.
Status RopeAngles(const int32_t* positions, int64_t rows, const float* inverse_frequencies, int32_t pairs,
                  float magnitude, float* angles, Stream stream);

// y[r] = x[rows[r]], and y[r][c] = x[r][columns[c]], whose numbers the caller has checked; y is dense.
Status GatherRows(Rows<const float> x, const int32_t* rows, int64_t count, float* y, Stream stream);
Status GatherColumns(Rows<const float> x, const int32_t* columns, int64_t count, float* y, Stream stream);

// tokens[r] = the first of the largest logits of row r. Not-a-number never wins; a row of nothing else gives 0.
Status GreedyTokens(Rows<const float> logits, int32_t* tokens, Stream stream);

}  // namespace inferflux::cuda
