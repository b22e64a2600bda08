#include "compute/cuda/kernels/attention/attend_few_rows.h"

#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/attention/tile_parts.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kAttendWarps = kAttendThreads / kWarpSize;
constexpr int kScorePitch = kKeys + 4;  // floats
constexpr int kScoreTiles = kKeys / 8 / kAttendWarps;

// Queries, then tiles of keys and values, then slots. Scores take the place of queries, which are in registers by then.
constexpr unsigned kQueryBytes = kFewTileRows * sizeof(uint16_t) * kRowPitch<128>;  // of the widest
static_assert(kFewTileRows * kScorePitch * sizeof(float) <= kQueryBytes);
template <int kDim>
constexpr unsigned kFewRowsSlotsAt = kQueryBytes + 4 * kPanel<kDim> * sizeof(uint16_t);
template <int kDim>
constexpr unsigned kFewRowsBytes = kFewRowsSlotsAt<kDim> + 2 * kKeys * sizeof(int32_t);

// All warps have the same 16 rows. Each multiplies its share of a tile's keys; then all of them weigh all scores, which
// are in shared memory, and each multiplies its share of the dimensions of the values.
template <class T, int kDim>
__global__ void __launch_bounds__(kAttendThreads, 3) AttendFewRowsKernel(AttentionArguments<T> a) {
  // What the host has written is there before the first kernel of a step begins; keys and values are not.
  const BlockWork<T> work(a);
  const auto& [kv_head, rows, table, end, last, first_step, last_step] = work;
  const KeysAndValues<T, kDim> kv{a, table, kv_head, last, SharedMemory<int32_t>(kFewRowsSlotsAt<kDim>)};
  if (first_step <= last_step) {
    kv.Keep(first_step, kv.LookUp(first_step));
    kv.Keep(first_step + 1, kv.LookUp(first_step + 1));
  }
  WaitForKernelsBefore();
  if (first_step > last_step) return;

  T* queries = SharedMemory<T>();
  float* shared_scores = SharedMemory<float>();  // [kFewTileRows, kScorePitch]
  T* stages = SharedMemory<T>(kQueryBytes);
  const auto copy = [&](int step) {
    T* stage = stages + step % 2 * 2 * kPanel<kDim>;
    kv.Copy(step, stage, stage + kPanel<kDim>);
    CommitCopies();
  };
  SyncThreads();
  copy(first_step);
  StoreQueries<T, kDim, kFewTileRows>(queries, rows, a.q);
  SyncThreads();
  FragmentA q[kDim / 16];
  LoadQueries<T, kDim>(q, queries);

  constexpr int kTiles = kDim / 8 < 2 * kAttendWarps ? 2 : kDim / 8 / kAttendWarps;  // of eight dimensions
  const int first_dim = Warp() * kTiles * 8;
  const bool has_values = first_dim < kDim;
  FragmentC<float> out[kTiles] = {};
  RunningSoftmax softmax;
  const SeenKeys seen(a, rows, 0, end);
  ChunkResults<T, kDim, kTiles> results{a, rows, 0, first_dim};
  for (int step = first_step; step <= last_step; ++step) {
    WaitCopies<0>();
    SyncThreads();  // this step's copies are there, and everyone is done with the stage that is copied to next
    if (step < last_step) copy(step + 1);
    const int32_t slot = kv.LookUp(step + 2);
    const T* stage = stages + step % 2 * 2 * kPanel<kDim>;
    FragmentC<float> mine[kScoreTiles] = {};
    MultiplyKeys<T, kDim>(mine, q, stage + Warp() * kScoreTiles * 8 * kRowPitch<kDim>);
    const auto at = [&](int tile_of_keys, int half) {
      return reinterpret_cast<Pack<float, 2>*>(shared_scores + (Lane() / 4 + half * 8) * kScorePitch +
                                               tile_of_keys * 8 + Lane() % 4 * 2);
    };
#pragma unroll
    for (int j = 0; j < kScoreTiles; ++j) {
      *at(Warp() * kScoreTiles + j, 0) = {mine[j].x[0], mine[j].x[1]};
      *at(Warp() * kScoreTiles + j, 1) = {mine[j].x[2], mine[j].x[3]};
    }
    SyncThreads();
    FragmentC<float> scores[kKeys / 8];
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j) {
      const Pack<float, 2> upper = *at(j, 0), lower = *at(j, 1);
      scores[j] = {{upper.x[0], upper.x[1], lower.x[0], lower.x[1]}};
    }
    MaskScores(scores, a.params, seen, step * kKeys);
    float factor[2];
    softmax.Update(scores, factor);
    if (has_values) {
#pragma unroll
      for (auto& part : out) {
#pragma unroll
        for (int e = 0; e < 4; ++e) part.x[e] *= factor[e / 2];
      }
      MultiplyValues<T, kDim>(out, scores, stage + kPanel<kDim> + first_dim);
    }
    if (step == last_step || (step + 1) % kChunkSteps == 0) {
      const int chunk = step / kChunkSteps;
      if (has_values) {
        results.Finish(chunk, chunk == first_step / kChunkSteps, step == last_step, out, softmax);
      }
      softmax = {};
      for (auto& part : out) part = {};
    }
    // The copies of step + 2 read it after the next barrier; those of this step, which had its place, are done.
    kv.Keep(step + 2, slot);
  }
}

}  // namespace

template <class T, int kDim>
Status LaunchAttendFewRows(const AttentionArguments<T>& a, Dim3 grid, Stream stream) {
  return LaunchEarly(AttendFewRowsKernel<T, kDim>, grid, {kAttendThreads}, kFewRowsBytes<kDim>, stream, a);
}

template Status LaunchAttendFewRows<Fp16, 32>(const AttentionArguments<Fp16>&, Dim3, Stream);
template Status LaunchAttendFewRows<Fp16, 64>(const AttentionArguments<Fp16>&, Dim3, Stream);
template Status LaunchAttendFewRows<Fp16, 128>(const AttentionArguments<Fp16>&, Dim3, Stream);
template Status LaunchAttendFewRows<Bf16, 32>(const AttentionArguments<Bf16>&, Dim3, Stream);
template Status LaunchAttendFewRows<Bf16, 64>(const AttentionArguments<Bf16>&, Dim3, Stream);
template Status LaunchAttendFewRows<Bf16, 128>(const AttentionArguments<Bf16>&, Dim3, Stream);

}  // namespace inferflux::cuda
