#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/recurrent/recurrent.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kConvThreads = 128;

// One column of a sequence: the rows of the step, and before them those of its state.
struct ConvColumn {
  const float* x;  // of the sequence's first row
  int64_t stride;
  const float* state;  // null: zeros
  int64_t width;
  int64_t kept;  // rows of a state

  // `row` counts from the sequence's first row, and may be negative.
  __device__ float operator[](int64_t row) const {
    if (row >= 0) return x[row * stride];
    return state == nullptr ? 0.0f : state[(kept + row) * width];
  }
};

__device__ inline ConvColumn ColumnOf(const Rows<const float>& x, int64_t column, int64_t kept, const StatePart& state,
                                      const StateArrays& step, int sequence) {
  const int32_t from = step.from[sequence];
  return {x.data + step.query_starts[sequence] * x.stride + column, x.stride,
          from < 0 ? nullptr : state.Slot(from) + column, x.columns, kept};
}

// Blocks x are rows, y share a row.
__global__ void ShortConvKernel(Rows<const float> x, const float* taps, int64_t count, StatePart state,
                                StateArrays step, float* y) {
  const int64_t row = BlockIndex().x;
  const int64_t column = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (column >= x.columns) return;
  const int sequence = step.sequences[row];
  const ConvColumn values = ColumnOf(x, column, count - 1, state, step, sequence);
  const int64_t last = row - step.query_starts[sequence];
  float sum = taps[column] * values[last - (count - 1)];
  for (int64_t t = 1; t < count; ++t) sum += taps[t * x.columns + column] * values[last - (count - 1) + t];
  y[row * x.columns + column] = sum;
}

// Blocks x are sequences, y share one. A slot that is read may be stored to: rows move towards its beginning.
__global__ void StoreConvKernel(Rows<const float> x, int64_t count, StatePart state, StateArrays step) {
  const int sequence = static_cast<int>(BlockIndex().x);
  const int64_t column = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (column >= x.columns) return;
  const ConvColumn values = ColumnOf(x, column, count - 1, state, step, sequence);
  const int32_t first = step.query_starts[sequence];
  const int32_t rows = step.query_starts[sequence + 1] - first;
  const auto store = [&](int64_t last, int32_t slot) {
    float* to = state.Slot(slot) + column;
    for (int64_t t = 0; t < count - 1; ++t) to[t * x.columns] = values[last - (count - 2) + t];
  };
  for (int32_t r = 0; r < rows; ++r) {
    if (step.marks[first + r] >= 0) store(r, step.marks[first + r]);
  }
  store(rows - 1, step.to[sequence]);
}

}  // namespace

Status ShortConv(Rows<const float> x, const float* taps, int64_t count, const StatePart& state, const StateArrays& step,
                 float* y, Stream stream) {
  const auto blocks = static_cast<unsigned>((x.columns + kConvThreads - 1) / kConvThreads);
  auto launched = Launch(ShortConvKernel, {static_cast<unsigned>(x.rows), blocks}, {kConvThreads}, 0, stream, x, taps,
                         count, state, step, y);
  if (!launched) return launched;
  return Launch(StoreConvKernel, {static_cast<unsigned>(step.sequence_count), blocks}, {kConvThreads}, 0, stream, x,
                count, state, step);
}

}  // namespace inferflux::cuda
