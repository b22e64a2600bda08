#include "compute/cuda/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/attention/attend_few_rows.h"
#include "compute/cuda/kernels/attention/tile_parts.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kRows = 64;  // of a block: four warps with 16 each

template <int kDim>
constexpr unsigned kSlotsAt = (kRows + 4 * kKeys) * kRowPitch<kDim> * sizeof(uint16_t);
template <int kDim>
constexpr unsigned kAttendBytes = kSlotsAt<kDim> + 2 * kKeys * sizeof(int32_t);

// Blocks x are rows, y heads: merges what the blocks of chunks have left. A thread takes some of the head's dimensions.
template <class T>
__global__ void MergeChunksKernel(AttentionArguments<T> a) {
  WaitForKernelsBefore();
  const int64_t row = BlockIndex().x;
  const int head = static_cast<int>(BlockIndex().y);
  const int dim = a.params.head_dim;
  const int position = a.step.positions[row];
  const int first = FirstSeen(a.params, position);
  const int last = a.params.causal ? position : a.step.positions[a.step.query_starts[a.step.sequences[row] + 1] - 1];
  const int64_t head_row = row * a.params.heads + head;
  for (int d = static_cast<int>(ThreadIndex().x); d < dim; d += static_cast<int>(BlockSize().x)) {
    MergedSoftmax merged;
    float total = 0.0f;
    for (int chunk = first / kAttentionChunk; chunk <= last / kAttentionChunk; ++chunk) {
      const float* partial = a.partial + (head_row * a.chunks + chunk) * (dim + 2);
      float old = 0.0f, added = 0.0f;
      merged.Add(partial[dim], partial[dim + 1], old, added);
      total = fmaf(total, old, partial[d] * added);
    }
    a.y[head_row * dim + d] = total / merged.sum;
  }
}

// Any tile. A warp has 16 rows of its own.
template <class T, int kDim>
__global__ void __launch_bounds__(kAttendThreads, 2) AttendKernel(AttentionArguments<T> a) {
  WaitForKernelsBefore();
  const BlockWork<T> work(a);
  const auto& [kv_head, rows, table, end, last, first_step, last_step] = work;
  if (first_step > last_step) return;

  T* queries = SharedMemory<T>();
  T* stages = queries + kRows * kRowPitch<kDim>;
  const KeysAndValues<T, kDim> kv{a, table, kv_head, last, SharedMemory<int32_t>(kSlotsAt<kDim>)};
  const auto copy = [&](int step) {
    T* stage = stages + step % 2 * 2 * kPanel<kDim>;
    kv.Copy(step, stage, stage + kPanel<kDim>);
    CommitCopies();
  };
  kv.Keep(first_step, kv.LookUp(first_step));
  kv.Keep(first_step + 1, kv.LookUp(first_step + 1));
  SyncThreads();
  copy(first_step);
  StoreQueries<T, kDim, kRows>(queries, rows, a.q);

  FragmentA q[kDim / 16];
  FragmentC<float> out[kDim / 8] = {};
  RunningSoftmax softmax;
  const int warp_row = Warp() * 16;
  const SeenKeys seen(a, rows, warp_row, end);
  ChunkResults<T, kDim, kDim / 8> results{a, rows, warp_row};
  for (int step = first_step; step <= last_step; ++step) {
    WaitCopies<0>();
    SyncThreads();  // this step's copies are there, and everyone is done with the stage that is copied to next
    if (step < last_step) copy(step + 1);
    const int32_t slot = kv.LookUp(step + 2);
    if (warp_row < rows.count) {  // a warp without rows only copies
      if (step == first_step) LoadQueries<T, kDim>(q, queries + warp_row * kRowPitch<kDim>);
      const T* stage = stages + step % 2 * 2 * kPanel<kDim>;
      FragmentC<float> scores[8] = {};
      MultiplyKeys<T, kDim>(scores, q, stage);
      MaskScores(scores, a.params, seen, step * kKeys);
      float factor[2];
      softmax.Update(scores, factor);
#pragma unroll
      for (auto& part : out) {
#pragma unroll
        for (int e = 0; e < 4; ++e) part.x[e] *= factor[e / 2];
      }
      MultiplyValues<T, kDim>(out, scores, stage + kPanel<kDim>);

      if (step == last_step || (step + 1) % kChunkSteps == 0) {
        const int chunk = step / kChunkSteps;
        results.Finish(chunk, chunk == first_step / kChunkSteps, step == last_step, out, softmax);
        softmax = {};
        for (auto& part : out) part = {};
      }
    }
    // The copies of step + 2 read it after the next barrier; those of this step, which had its place, are done.
    kv.Keep(step + 2, slot);
  }
}

template <class T, int kDim>
Status LaunchAttend(const AttentionArguments<T>& a, Stream stream) {
  const Dim3 grid{static_cast<unsigned>(a.tile_count), static_cast<unsigned>(a.params.kv_heads),
                  static_cast<unsigned>(std::max(1, a.chunks))};
  auto launched = a.most_queries * (a.params.heads / a.params.kv_heads) <= kFewTileRows
                      ? LaunchAttendFewRows<T, kDim>(a, grid, stream)
                      : LaunchEarly(AttendKernel<T, kDim>, grid, {kAttendThreads}, kAttendBytes<kDim>, stream, a);
  if (!launched || a.chunks == 0) return launched;
  return LaunchEarly(MergeChunksKernel<T>, {static_cast<unsigned>(a.q.rows), static_cast<unsigned>(a.params.heads)},
                     {static_cast<unsigned>(kDim)}, 0, stream, a);
}

}  // namespace

std::vector<AttentionTile> AttentionTiles(const compute::StepGeometry& step, int32_t group) {
  std::vector<AttentionTile> tiles;
  const int32_t queries = kRows / group;
  for (int32_t s = 0; s < step.sequences(); ++s) {
    for (int32_t first = step.query_starts[s]; first < step.query_starts[s + 1]; first += queries) {
      tiles.push_back({s, first, std::min(queries, step.query_starts[s + 1] - first)});
    }
  }
  return tiles;
}

template <class T>
Status Attend(const AttentionArguments<T>& a, Stream stream) {
  const auto aligned = [](const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; };
  if (!aligned(a.q.data) || a.q.stride % 4 != 0 || !aligned(a.keys) || !aligned(a.values)) {
    return Fail(ErrorCode::kInvalidArgument, "attention over rows that do not begin at multiples of 16 bytes");
  }
  if (a.params.heads % a.params.kv_heads != 0 || a.params.heads / a.params.kv_heads > kRows) {
    return Fail(ErrorCode::kUnsupported, "attention with {} heads and {} KV heads; at most {} share one",
                a.params.heads, a.params.kv_heads, kRows);
  }
  switch (a.params.head_dim) {
    case 32:
      return LaunchAttend<T, 32>(a, stream);
    case 64:
      return LaunchAttend<T, 64>(a, stream);
    case 128:
      return LaunchAttend<T, 128>(a, stream);
    default:
      return Fail(ErrorCode::kUnsupported, "attention with heads of {}; there are 32, 64 and 128", a.params.head_dim);
  }
}

template Status Attend(const AttentionArguments<Fp16>&, Stream);
template Status Attend(const AttentionArguments<Bf16>&, Stream);

}  // namespace inferflux::cuda
