#include <cmath>

#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/recurrent/recurrent.h"
#include "compute/cuda/kernels/recurrent/softplus.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kScanColumns = 64;  // of a head, one for each thread

// Blocks x are heads, y sequences, z runs of columns. Shared: a token's b and c, and the columns of the state that the
// block's threads own, [state, kScanColumns].
__global__ void __launch_bounds__(kScanColumns) SelectiveScanKernel(ScanArguments a) {
  const int head = static_cast<int>(BlockIndex().x);
  const int sequence = static_cast<int>(BlockIndex().y);
  const int thread = static_cast<int>(ThreadIndex().x);
  const int column = static_cast<int>(BlockIndex().z) * kScanColumns + thread;
  const int width = a.params.head_dim, size = a.params.state;
  const bool present = column < width;
  const int64_t inner = int64_t{a.params.heads} * width;
  const int64_t group = head / (a.params.heads / a.params.groups);
  const int64_t b_at = inner + group * size, c_at = b_at + int64_t{a.params.groups} * size;
  const int64_t part = int64_t{head} * size * width + column;
  float* b = SharedMemory<float>();
  float* c = b + size;
  float* state = c + size + thread;

  const int32_t from = a.step.from[sequence];
  for (int i = 0; i < size; ++i) {
    state[i * kScanColumns] = present && from >= 0 ? a.state.Slot(from)[part + int64_t{i} * width] : 0.0f;
  }
  const auto store = [&](int32_t slot) {
    if (!present) return;
    for (int i = 0; i < size; ++i) a.state.Slot(slot)[part + int64_t{i} * width] = state[i * kScanColumns];
  };
  for (int32_t row = a.step.query_starts[sequence]; row < a.step.query_starts[sequence + 1]; ++row) {
    const float* values = a.xbc.data + row * a.xbc.stride;
    SyncThreads();  // the last token's b and c were used
    for (int i = thread; i < size; i += kScanColumns) {
      b[i] = values[b_at + i];
      c[i] = values[c_at + i];
    }
    SyncThreads();
    const float step = Softplus(a.dt.data[row * a.dt.stride + head] + a.steps[head]);
    const float decay = expf(a.coefficients[head] * step);
    const float x = present ? values[int64_t{head} * width + column] : 0.0f;
    const float scaled = step * x;
    float y = 0.0f;
    for (int i = 0; i < size; ++i) {
      const float updated = decay * state[i * kScanColumns] + b[i] * scaled;
      state[i * kScanColumns] = updated;
      y += c[i] * updated;
    }
    if (present) a.y[row * inner + int64_t{head} * width + column] = y + a.skips[head] * x;
    if (a.step.marks[row] >= 0) store(a.step.marks[row]);
  }
  store(a.step.to[sequence]);
}

}  // namespace

Status SelectiveScan(const ScanArguments& a, Stream stream) {
  const auto runs = static_cast<unsigned>((a.params.head_dim + kScanColumns - 1) / kScanColumns);
  const size_t bytes = static_cast<size_t>(a.params.state) * (2 + kScanColumns) * sizeof(float);
  return Launch(SelectiveScanKernel,
                {static_cast<unsigned>(a.params.heads), static_cast<unsigned>(a.step.sequence_count), runs},
                {kScanColumns}, bytes, stream, a);
}

}  // namespace inferflux::cuda
