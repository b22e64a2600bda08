#include <cmath>

#include "compute/cuda/device/half.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kScoreThreads = 128;
constexpr int kQueriesAtOnce = 8;  // heads: each key is read once for all of them
constexpr int64_t kMostQueries = 16384;

__host__ __device__ constexpr int64_t Padded(int64_t heads) {
  return (heads + kQueriesAtOnce - 1) / kQueriesAtOnce * kQueriesAtOnce;
}

// Blocks x are runs of positions, y are rows. A thread scores one position. Shared: the row's queries and weights, with
// zeros for heads that are not there.
template <class S>
__global__ void __launch_bounds__(kScoreThreads, 4) ScorePositionsKernel(IndexArguments<S> a) {
  const int64_t row = a.first + BlockIndex().y;
  const int thread = static_cast<int>(ThreadIndex().x);
  const int begin = static_cast<int>(BlockIndex().x) * kScoreThreads;
  const int position = a.step.positions[row];
  if (begin > position) return;
  const int dim = a.params.head_dim, heads = a.params.heads;
  const int padded = static_cast<int>(Padded(heads));
  float* queries = SharedMemory<float>();
  float* weights = queries + padded * dim;
  for (int i = thread; i < padded * dim; i += kScoreThreads) {
    queries[i] = i < heads * dim ? a.q.data[row * a.q.stride + i] : 0.0f;
  }
  for (int h = thread; h < padded; h += kScoreThreads) {
    weights[h] = h < heads ? a.weights.data[row * a.weights.stride + h] : 0.0f;
  }
  SyncThreads();
  const int key = begin + thread;
  if (key > position) return;
  const int32_t* table = a.step.block_tables + a.step.table_starts[a.step.sequences[row]];
  const int64_t slot = a.step.Slot(table, key);
  const S* elements = a.kv.values + slot * dim;
  float total = 0.0f;
  for (int head = 0; head < padded; head += kQueriesAtOnce) {
    float products[kQueriesAtOnce] = {};
    for (int d = 0; d < dim; ++d) {
      const float element = AsFloat(elements[d]);
      for (int h = 0; h < kQueriesAtOnce; ++h) products[h] = fmaf(queries[(head + h) * dim + d], element, products[h]);
    }
    for (int h = 0; h < kQueriesAtOnce; ++h) total = fmaf(weights[head + h], fmaxf(products[h], 0.0f), total);
  }
  if (a.kv.value_scales != nullptr) total *= a.kv.value_scales[slot];
  a.scores[int64_t{BlockIndex().y} * a.length + key] = total;
}

}  // namespace

template <class S>
Status ScorePositions(const IndexArguments<S>& a, Stream stream) {
  const int64_t padded = Padded(a.params.heads);
  if (padded * a.params.head_dim > kMostQueries) {
    return Fail(ErrorCode::kUnsupported, "an indexer of {} heads of {}; at most {} values are supported",
                a.params.heads, a.params.head_dim, kMostQueries);
  }
  const auto runs = static_cast<unsigned>((a.length + kScoreThreads - 1) / kScoreThreads);
  return Launch(ScorePositionsKernel<S>, {runs, static_cast<unsigned>(a.count)}, {kScoreThreads},
                static_cast<size_t>(padded * (a.params.head_dim + 1)) * sizeof(float), stream, a);
}

template Status ScorePositions(const IndexArguments<float>&, Stream);
template Status ScorePositions(const IndexArguments<Fp16>&, Stream);
template Status ScorePositions(const IndexArguments<Bf16>&, Stream);
template Status ScorePositions(const IndexArguments<int8_t>&, Stream);
template Status ScorePositions(const IndexArguments<Fp8>&, Stream);

}  // namespace inferflux::cuda
