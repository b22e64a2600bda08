#include <cmath>

#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/recurrent/recurrent.h"
#include "compute/cuda/kernels/recurrent/softplus.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kDeltaColumns = 64;  // of a head's values, one for each thread
constexpr float kLeastSquares = 1e-6f;

// The shared memory of a block: a token's query and key, and the columns of the state that its threads own.
struct DeltaShared {
  float* query;
  float* key;
  float* state;  // [key_dim, kDeltaColumns]
  float* sums;   // of BlockSum, for the query and for the key

  __device__ explicit DeltaShared(int key_dim)
      : query(SharedMemory<float>()),
        key(query + key_dim),
        state(key + key_dim),
        sums(state + key_dim * kDeltaColumns) {}

  static size_t Bytes(int key_dim) {
    return static_cast<size_t>(key_dim) * (2 + kDeltaColumns) * sizeof(float) + 2 * kReduceBytes;
  }
};

// x scaled to a length, in shared memory.
__device__ inline void ScaleToLength(const float* x, int count, float length, float* to, float* sums) {
  float squares = 0.0f;
  for (int i = static_cast<int>(ThreadIndex().x); i < count; i += kDeltaColumns) squares += x[i] * x[i];
  const float factor = length / sqrtf(BlockSum(squares, sums) + kLeastSquares);
  for (int i = static_cast<int>(ThreadIndex().x); i < count; i += kDeltaColumns) to[i] = x[i] * factor;
}

// Blocks x are value heads, y sequences, z runs of columns.
__global__ void __launch_bounds__(kDeltaColumns) GatedDeltaKernel(DeltaArguments a) {
  const int head = static_cast<int>(BlockIndex().x);
  const int sequence = static_cast<int>(BlockIndex().y);
  const int thread = static_cast<int>(ThreadIndex().x);
  const int column = static_cast<int>(BlockIndex().z) * kDeltaColumns + thread;
  const int key_dim = a.params.key_dim, value_dim = a.params.value_dim;
  const bool present = column < value_dim;
  const int repeat = a.params.value_heads / a.params.key_heads;
  const int key_head = a.params.keys_repeat ? head % a.params.key_heads : head / repeat;
  const int64_t keys = int64_t{a.params.key_heads} * key_dim;
  const int64_t values = int64_t{a.params.value_heads} * value_dim;
  const int64_t part = int64_t{head} * key_dim * value_dim + column;
  const DeltaShared shared(key_dim);
  float* state = shared.state + thread;

  const int32_t from = a.step.from[sequence];
  for (int i = 0; i < key_dim; ++i) {
    state[i * kDeltaColumns] = present && from >= 0 ? a.state.Slot(from)[part + int64_t{i} * value_dim] : 0.0f;
  }
  const auto store = [&](int32_t slot) {
    if (!present) return;
    for (int i = 0; i < key_dim; ++i) {
      a.state.Slot(slot)[part + int64_t{i} * value_dim] = state[i * kDeltaColumns];
    }
  };
  const float length = 1.0f / sqrtf(static_cast<float>(key_dim));
  for (int32_t row = a.step.query_starts[sequence]; row < a.step.query_starts[sequence + 1]; ++row) {
    const float* x = a.qkv.data + row * a.qkv.stride;
    SyncThreads();  // the last token's query and key were used
    ScaleToLength(x + key_head * key_dim, key_dim, length, shared.query, shared.sums);
    ScaleToLength(x + keys + key_head * key_dim, key_dim, 1.0f, shared.key, shared.sums + kWarpSize);
    SyncThreads();
    const float decay = expf(a.coefficients[head] * Softplus(a.a.data[row * a.a.stride + head] + a.steps[head]));
    const float rate = 1.0f / (1.0f + expf(-a.b.data[row * a.b.stride + head]));
    float delta = 0.0f;
    for (int i = 0; i < key_dim; ++i) {
      const float decayed = state[i * kDeltaColumns] * decay;
      state[i * kDeltaColumns] = decayed;
      delta += shared.key[i] * decayed;
    }
    delta = present ? (x[2 * keys + int64_t{head} * value_dim + column] - delta) * rate : 0.0f;
    float y = 0.0f;
    for (int i = 0; i < key_dim; ++i) {
      const float updated = state[i * kDeltaColumns] + shared.key[i] * delta;
      state[i * kDeltaColumns] = updated;
      y += shared.query[i] * updated;
    }
    if (present) a.y[row * values + int64_t{head} * value_dim + column] = y;
    if (a.step.marks[row] >= 0) store(a.step.marks[row]);
  }
  store(a.step.to[sequence]);
}

}  // namespace

Status GatedDelta(const DeltaArguments& a, Stream stream) {
  const auto runs = static_cast<unsigned>((a.params.value_dim + kDeltaColumns - 1) / kDeltaColumns);
  return Launch(GatedDeltaKernel,
                {static_cast<unsigned>(a.params.value_heads), static_cast<unsigned>(a.step.sequence_count), runs},
                {kDeltaColumns}, DeltaShared::Bytes(a.params.key_dim), stream, a);
}

}  // namespace inferflux::cuda
