#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/merged_softmax.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// Four warps with 16 rows each; a row is one query with one of the KV head's heads. Keys and values come in tiles of 64
// positions, of which two are in shared memory: one is used while the next is copied.
constexpr int kRows = 64;
constexpr int kKeys = 64;
constexpr int kAttendThreads = 128;

template <int kDim>
constexpr int kRowPitch = kDim + 8;  // elements; ldmatrix's eight rows are then in different banks
template <int kDim>
constexpr unsigned kSlotsAt = (kRows + 4 * kKeys) * kRowPitch<kDim> * sizeof(uint16_t);
template <int kDim>
constexpr unsigned kAttendBytes = kSlotsAt<kDim> + 2 * kKeys * sizeof(int32_t);

// Where the rows of a block are in the step.
template <class T>
struct BlockRows {
  int group, head;   // heads of a KV head, the first of them
  int first, count;  // the first query's row in the step, and how many rows of the tile are used
  int position;      // of the first query

  __device__ int query(int row) const { return first + row / group; }
  __device__ int position_of(int row) const { return position + row / group; }
  __device__ int64_t column(int row, int dim) const { return static_cast<int64_t>(head + row % group) * dim; }
};

// Rounds the block's queries to T; zeros in rows that it does not use.
template <class T, int kDim>
__device__ inline void StoreQueries(T* to, const BlockRows<T>& rows, const Rows<const float>& q) {
  constexpr int kPacks = kDim / 8;  // of a row
  for (int i = static_cast<int>(ThreadIndex().x); i < kRows * kPacks; i += kAttendThreads) {
    const int row = i / kPacks;
    const int at = i % kPacks * 8;
    Pack<uint32_t, 4> out = {};
    if (row < rows.count) {
      const float* from = q.data + rows.query(row) * q.stride + rows.column(row, kDim) + at;
      for (int half = 0; half < 2; ++half) {
        const auto four = reinterpret_cast<const Pack<float, 4>*>(from)[half];
        out.x[2 * half] = TwoFromFloats<T>(four.x[0], four.x[1]);
        out.x[2 * half + 1] = TwoFromFloats<T>(four.x[2], four.x[3]);
      }
    }
    *reinterpret_cast<Pack<uint32_t, 4>*>(to + row * kRowPitch<kDim> + at) = out;
  }
}

// Keys and values of 64 positions. Where they are in memory is looked up one tile ahead: a copy that waited for its
// block's number would keep the products waiting.
template <class T, int kDim>
struct KeysAndValues {
  const AttentionArguments<T>& a;
  const int32_t* table;
  int kv_head;
  int last;        // position
  int32_t* slots;  // [2, 64] in shared memory

  // The slot of one of the positions of a tile; -1 beyond `last`, and in threads that have none.
  __device__ int32_t LookUp(int step) const {
    const int position = step * kKeys + static_cast<int>(ThreadIndex().x);
    if (ThreadIndex().x >= kKeys || position > last) return -1;
    return static_cast<int32_t>(a.step.Slot(table, position));
  }
  // What was looked up, for copies after the next barrier.
  __device__ void Keep(int step, int32_t slot) const {
    if (ThreadIndex().x < kKeys) slots[step % 2 * kKeys + ThreadIndex().x] = slot;
  }
  // Starts the copy of a tile; zeros beyond `last`, since a weight of zero times garbage may be no number.
  __device__ void Copy(int step, T* keys, T* values) const {
    constexpr int kChunks = kDim / 8;  // of 16 bytes, in a row
    for (int i = static_cast<int>(ThreadIndex().x); i < kKeys * kChunks; i += kAttendThreads) {
      const int row = i / kChunks;
      const int at = i % kChunks * 8;
      const int32_t slot = slots[step % 2 * kKeys + row];
      const int64_t from = slot >= 0 ? (int64_t{slot} * a.params.kv_heads + kv_head) * kDim + at : 0;
      CopyAsync16(keys + row * kRowPitch<kDim> + at, a.keys + from, slot >= 0);
      CopyAsync16(values + row * kRowPitch<kDim> + at, a.values + from, slot >= 0);
    }
  }
};

// A warp's scores: 16 rows by 64 keys, which are rows of shared memory.
template <class T, int kDim>
__device__ inline void MultiplyKeys(FragmentC<float> (&scores)[8], const FragmentA (&q)[kDim / 16], const T* keys) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
#pragma unroll
  for (int k = 0; k < kDim / 16; ++k) {
    uint32_t pairs[4][4];  // all before the first product, which then does not wait for each in turn
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      LoadMatrix4(pairs[j], keys + (j * 16 + row + matrix / 2 * 8) * kRowPitch<kDim> + k * 16 + matrix % 2 * 8);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      MatMulAdd<T>(scores[2 * j], q[k], FragmentB{{pairs[j][0], pairs[j][1]}});
      MatMulAdd<T>(scores[2 * j + 1], q[k], FragmentB{{pairs[j][2], pairs[j][3]}});
    }
  }
}

// out += weights * values. The scores' fragments are in the layout of A's, once they are rounded.
template <class T, int kDim>
__device__ inline void MultiplyValues(FragmentC<float> (&out)[kDim / 8], const FragmentC<float> (&weights)[8],
                                      const T* values) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
    const auto& left = weights[2 * k].x;
    const auto& right = weights[2 * k + 1].x;
    const FragmentA a{{TwoFromFloats<T>(left[0], left[1]), TwoFromFloats<T>(left[2], left[3]),
                       TwoFromFloats<T>(right[0], right[1]), TwoFromFloats<T>(right[2], right[3])}};
    constexpr int kLoads = kDim / 16 < 4 ? kDim / 16 : 4;
#pragma unroll
    for (int first = 0; first < kDim / 16; first += kLoads) {
      uint32_t pairs[kLoads][4];
#pragma unroll
      for (int j = 0; j < kLoads; ++j) {
        const T* at = values + (k * 16 + row + matrix % 2 * 8) * kRowPitch<kDim> + (first + j) * 16 + matrix / 2 * 8;
        LoadMatrix4<true>(pairs[j], at);
      }
#pragma unroll
      for (int j = 0; j < kLoads; ++j) {
        MatMulAdd<T>(out[2 * (first + j)], a, FragmentB{{pairs[j][0], pairs[j][1]}});
        MatMulAdd<T>(out[2 * (first + j) + 1], a, FragmentB{{pairs[j][2], pairs[j][3]}});
      }
    }
  }
}

// The softmax as it goes on (arXiv:1805.02867): of each of a thread's two rows the largest score so far, and the sum of
// its own weights.
struct RunningSoftmax {
  float largest[2] = {kMasked, kMasked};
  float sum[2] = {0.0f, 0.0f};

  // Turns scores, in units of log 2, into weights; yields by what each row's earlier sums have to be multiplied. A tile
  // in which a row sees nothing changes nothing, to the last bit.
  template <int kTiles>
  __device__ void Update(FragmentC<float> (&scores)[kTiles], float (&factor)[2]) {
    for (int half = 0; half < 2; ++half) {
      float top = largest[half];
      for (const auto& tile : scores) top = fmaxf(top, fmaxf(tile.x[2 * half], tile.x[2 * half + 1]));
      for (int flip = 1; flip < 4; flip *= 2) top = fmaxf(top, ShuffleXor(kFullWarp, top, flip));
      factor[half] = WeighScores(scores, half, top, largest[half], sum[half]);
    }
  }
};

// Which chunks a block computes, and where their results go.
template <class T, int kDim>
struct ChunkResults {
  const AttentionArguments<T>& a;
  const BlockRows<T>& rows;
  int warp_row;
  MergedSoftmax merged[2] = {};

  // The end of a chunk: `out` and `softmax` are its result. The block may walk several; y keeps what is merged so far.
  __device__ void Finish(int chunk, bool first, bool last, const FragmentC<float> (&out)[kDim / 8],
                         const RunningSoftmax& softmax) {
    FinishHalf<0>(chunk, first, last, out, softmax);
    FinishHalf<1>(chunk, first, last, out, softmax);
  }

  // Of the first or the second of a thread's two rows: every index is known, so that `out` stays in registers.
  template <int kHalf>
  __device__ void FinishHalf(int chunk, bool first, bool last, const FragmentC<float> (&out)[kDim / 8],
                             const RunningSoftmax& softmax) {
    float sum = softmax.sum[kHalf];
    for (int flip = 1; flip < 4; flip *= 2) sum += ShuffleXor(kFullWarp, sum, flip);
    const int row = warp_row + Lane() / 4 + kHalf * 8;
    if (row >= rows.count) return;
    const int64_t head_row = int64_t{rows.query(row)} * a.params.heads + rows.head + row % rows.group;
    float old = 0.0f, added = 1.0f;
    float* to = a.y + head_row * kDim;
    if (a.chunks > 0) {
      to = a.partial + (head_row * a.chunks + chunk) * (kDim + 2);
      if (Lane() % 4 == 0) {
        to[kDim] = softmax.largest[kHalf];
        to[kDim + 1] = sum;
      }
      first = true;
      last = false;
    } else {
      merged[kHalf].Add(softmax.largest[kHalf], sum, old, added);
    }
    const float whole = last ? merged[kHalf].sum : 1.0f;
    to += Lane() % 4 * 2;
    for (int j = 0; j < kDim / 8; ++j) {
      for (int e = 0; e < 2; ++e) {
        const float before = first ? 0.0f : to[j * 8 + e];
        to[j * 8 + e] = fmaf(before, old, out[j].x[2 * kHalf + e] * added) / whole;
      }
    }
  }
};

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

// Which keys a thread's two rows see, of those up to the end of the sequence.
struct SeenKeys {
  int first[2], last[2];
  int of_all_first, of_all_last;  // the keys that all of the warp's rows see

  template <class T>
  __device__ SeenKeys(const AttentionArguments<T>& a, const BlockRows<T>& rows, int warp_row, int end) {
    const auto last_of = [&](int position) {
      const int seen = a.params.causal ? position : end;
      return a.params.window > 0 && seen >= position + a.params.window ? position + a.params.window - 1 : seen;
    };
    for (int half = 0; half < 2; ++half) {
      const int position = rows.position_of(warp_row + Lane() / 4 + half * 8);
      first[half] = FirstSeen(a.params, position);
      last[half] = last_of(position);
    }
    of_all_first = FirstSeen(a.params, rows.position_of(warp_row + 15));
    of_all_last = last_of(rows.position_of(warp_row));
  }
};

// Products of a row with the keys from `key` on become scores in units of log 2; those of keys that it does not see are
// masked.
__device__ inline void MaskScores(FragmentC<float> (&scores)[8], const compute::AttentionParams& params,
                                  const SeenKeys& seen, int key) {
  if (params.softcap > 0.0f) {
#pragma unroll
    for (auto& tile : scores) {
#pragma unroll
      for (float& score : tile.x) score = params.softcap * tanhf(score * params.scale / params.softcap) * kLog2E;
    }
  } else {
    const float scale = params.scale * kLog2E;
#pragma unroll
    for (auto& tile : scores) {
#pragma unroll
      for (float& score : tile.x) score *= scale;
    }
  }
  if (key >= seen.of_all_first && key + kKeys - 1 <= seen.of_all_last) return;  // most tiles of a long prompt
#pragma unroll
  for (int j = 0; j < 8; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = key + j * 8 + Lane() % 4 * 2 + e % 2;
      if (at < seen.first[e / 2] || at > seen.last[e / 2]) scores[j].x[e] = kMasked;
    }
  }
}

// Blocks x are tiles, y are KV heads, z are chunks where KV is split.
template <class T, int kDim>
__global__ void __launch_bounds__(kAttendThreads, 2) AttendKernel(AttentionArguments<T> a) {
  WaitForKernelsBefore();
  const AttentionTile tile = a.tiles[BlockIndex().x];
  const int kv_head = static_cast<int>(BlockIndex().y);
  const int group = a.params.heads / a.params.kv_heads;
  const BlockRows<T> rows{group, kv_head * group, tile.first, tile.queries * group, a.step.positions[tile.first]};
  const int32_t* table = a.step.block_tables + a.step.table_starts[tile.sequence];
  const int end = a.step.positions[a.step.query_starts[tile.sequence + 1] - 1];  // of the sequence
  const int last = a.params.causal ? rows.position + tile.queries - 1 : end;
  const int first = FirstSeen(a.params, rows.position);

  constexpr int kChunkSteps = kAttentionChunk / kKeys;
  int first_step = first / kKeys, last_step = last / kKeys;
  if (a.chunks > 0) {
    const int chunk = static_cast<int>(BlockIndex().z);
    if (first_step < chunk * kChunkSteps) first_step = chunk * kChunkSteps;
    if (last_step >= (chunk + 1) * kChunkSteps) last_step = (chunk + 1) * kChunkSteps - 1;
    if (first_step > last_step) return;
  }

  T* queries = SharedMemory<T>();
  T* stages = queries + kRows * kRowPitch<kDim>;
  constexpr int kPanel = kKeys * kRowPitch<kDim>;
  const KeysAndValues<T, kDim> kv{a, table, kv_head, last, SharedMemory<int32_t>(kSlotsAt<kDim>)};
  const auto copy = [&](int step) {
    T* stage = stages + step % 2 * 2 * kPanel;
    kv.Copy(step, stage, stage + kPanel);
    CommitCopies();
  };
  kv.Keep(first_step, kv.LookUp(first_step));
  kv.Keep(first_step + 1, kv.LookUp(first_step + 1));
  SyncThreads();
  copy(first_step);
  StoreQueries<T, kDim>(queries, rows, a.q);

  FragmentA q[kDim / 16];
  FragmentC<float> out[kDim / 8] = {};
  RunningSoftmax softmax;
  const int warp_row = Warp() * 16;
  const SeenKeys seen(a, rows, warp_row, end);
  ChunkResults<T, kDim> results{a, rows, warp_row};
  for (int step = first_step; step <= last_step; ++step) {
    WaitCopies<0>();
    SyncThreads();  // this step's copies are there, and everyone is done with the stage that is copied to next
    if (step < last_step) copy(step + 1);
    const int32_t slot = kv.LookUp(step + 2);
    if (warp_row < rows.count) {  // a warp without rows only copies
      if (step == first_step) {
        for (int k = 0; k < kDim / 16; ++k) {
          LoadMatrix4(q[k].x, queries + (warp_row + Lane() % 16) * kRowPitch<kDim> + k * 16 + Lane() / 16 * 8);
        }
      }
      const T* stage = stages + step % 2 * 2 * kPanel;
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
      MultiplyValues<T, kDim>(out, scores, stage + kPanel);

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
  const auto chunks = static_cast<unsigned>(std::max(1, a.chunks));
  auto launched = LaunchEarly(AttendKernel<T, kDim>,
                              {static_cast<unsigned>(a.tile_count), static_cast<unsigned>(a.params.kv_heads), chunks},
                              {kAttendThreads}, kAttendBytes<kDim>, stream, a);
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
