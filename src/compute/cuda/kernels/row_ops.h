// Operations that work on the rows of a step. Matrices are row-major; a view's rows are `stride` elements apart. T is
// float, Fp16 or Bf16; everything is computed in float and rounded once.
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

// y = x / sqrt(mean(x^2) + epsilon) * weight (arXiv:1910.07467), each run of `width` columns by itself. With a residual
// x + residual is normalised, and written to `sum`. y and sum are dense.
template <class T>
struct RmsNormParams {
  Rows<const T> x;
  const T* residual = nullptr;    // dense [rows, columns], or null
  T* sum = nullptr;               // the same, where there is a residual
  const float* weight = nullptr;  // [width]
  int64_t width = 0;              // divides the columns
  float epsilon = 0.0f;
  T* y = nullptr;
};
template <class T>
Status RmsNorm(const RmsNormParams<T>& params, Stream stream);

// Rotates x [rows, heads * head_dim] by angles [rows, 2 * pairs], cosines first (arXiv:2104.09864). y is dense;
// dimensions beyond the rotated ones pass.
template <class T>
Status Rope(Rows<const T> x, const float* angles, int32_t pairs, const compute::RopeParams& params, T* y,
            Stream stream);

// y = act(gate) * up; y is dense.
template <class T>
Status Gate(Rows<const T> gate, Rows<const T> up, compute::Activation activation, T* y, Stream stream);

// y = x * factor; y = a + b; y = x + bias [columns]. Each y is dense.
template <class T>
Status Scale(Rows<const T> x, float factor, T* y, Stream stream);
template <class T>
Status Add(Rows<const T> a, Rows<const T> b, T* y, Stream stream);
template <class T>
Status AddBias(Rows<const T> x, const float* bias, T* y, Stream stream);

// cos and sin of position * frequency, times magnitude: [rows, 2 * pairs], cosines first. Positions are below 2^24,
// which floats hold exactly.
Status RopeAngles(const int32_t* positions, int64_t rows, const float* inverse_frequencies, int32_t pairs,
                  float magnitude, float* angles, Stream stream);

// y[r] = table[tokens[r]], or rows of any matrix by their numbers; the caller has checked that they are there.
template <class T>
Status Embed(Rows<const T> table, const int32_t* tokens, int64_t count, T* y, Stream stream);

// tokens[r] = the first of the largest logits of row r. Not-a-number never wins; a row of nothing else gives 0.
Status GreedyTokens(Rows<const float> logits, int32_t* tokens, Stream stream);

}  // namespace inferflux::cuda
