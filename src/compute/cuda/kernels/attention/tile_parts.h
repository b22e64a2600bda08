// Parts of the kernels of attention by tensor cores. A block's rows are queries with the heads of one KV head; keys and
// values come in tiles of 64 positions. Every kernel computes a row in the same order, so that its bits do not depend
// on which of them does.
#pragma once

#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/attention/attention.h"
#include "compute/cuda/kernels/merged_softmax.h"
#include "compute/cuda/kernels/pack.h"

namespace inferflux::cuda {

inline constexpr int kKeys = 64;  // of a tile; two tiles of keys and values are in shared memory
inline constexpr int kAttendThreads = 128;
inline constexpr int kChunkSteps = kAttentionChunk / kKeys;

template <int kDim>
inline constexpr int kRowPitch = kDim + 8;  // elements; ldmatrix's eight rows are then in different banks
template <int kDim>
inline constexpr int kPanel = kKeys* kRowPitch<kDim>;  // elements of a tile of keys, or of values

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

// What a block computes: a tile with the heads of one KV head, over the positions that it sees, and of one chunk if KV
// is split. Blocks x are tiles, y are KV heads, z are chunks.
template <class T>
struct BlockWork {
  int kv_head;
  BlockRows<T> rows;
  const int32_t* table;       // the sequence's part of the block tables
  int end, last;              // positions: of the sequence, and that any row sees
  int first_step, last_step;  // of 64 positions; none where the first is behind the last

  __device__ explicit BlockWork(const AttentionArguments<T>& a) {
    const AttentionTile tile = a.tiles[BlockIndex().x];
    const int group = a.params.heads / a.params.kv_heads;
    kv_head = static_cast<int>(BlockIndex().y);
    rows = {group, kv_head * group, tile.first, tile.queries * group, a.step.positions[tile.first]};
    table = a.step.block_tables + a.step.table_starts[tile.sequence];
    end = a.step.positions[a.step.query_starts[tile.sequence + 1] - 1];
    last = a.params.causal ? rows.position + tile.queries - 1 : end;
    first_step = FirstSeen(a.params, rows.position) / kKeys;
    last_step = last / kKeys;
    if (a.chunks == 0) return;
    const int chunk = static_cast<int>(BlockIndex().z);
    if (first_step < chunk * kChunkSteps) first_step = chunk * kChunkSteps;
    if (last_step >= (chunk + 1) * kChunkSteps) last_step = (chunk + 1) * kChunkSteps - 1;
  }
};

// Rounds the block's queries to T; zeros in those of kRows rows that it does not use.
template <class T, int kDim, int kRows>
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

// A warp's 16 rows of queries; `from` is the first of them.
template <class T, int kDim>
__device__ inline void LoadQueries(FragmentA (&q)[kDim / 16], const T* from) {
  for (int k = 0; k < kDim / 16; ++k) {
    LoadMatrix4(q[k].x, from + Lane() % 16 * kRowPitch<kDim> + k * 16 + Lane() / 16 * 8);
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

// A warp's scores: 16 rows by eight keys a tile, which are rows of shared memory.
template <class T, int kDim, int kTiles>
__device__ inline void MultiplyKeys(FragmentC<float> (&scores)[kTiles], const FragmentA (&q)[kDim / 16],
                                    const T* keys) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
#pragma unroll
  for (int k = 0; k < kDim / 16; ++k) {
    uint32_t pairs[kTiles / 2][4];  // all before the first product, which then does not wait for each in turn
#pragma unroll
    for (int j = 0; j < kTiles / 2; ++j) {
      LoadMatrix4(pairs[j], keys + (j * 16 + row + matrix / 2 * 8) * kRowPitch<kDim> + k * 16 + matrix % 2 * 8);
    }
#pragma unroll
    for (int j = 0; j < kTiles / 2; ++j) {
      MatMulAdd<T>(scores[2 * j], q[k], FragmentB{{pairs[j][0], pairs[j][1]}});
      MatMulAdd<T>(scores[2 * j + 1], q[k], FragmentB{{pairs[j][2], pairs[j][3]}});
    }
  }
}

// out += weights * values, eight dimensions a tile. The scores' fragments are in the layout of A's, once they are
// rounded.
template <class T, int kDim, int kTiles>
__device__ inline void MultiplyValues(FragmentC<float> (&out)[kTiles], const FragmentC<float> (&weights)[8],
                                      const T* values) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
    const auto& left = weights[2 * k].x;
    const auto& right = weights[2 * k + 1].x;
    const FragmentA a{{TwoFromFloats<T>(left[0], left[1]), TwoFromFloats<T>(left[2], left[3]),
                       TwoFromFloats<T>(right[0], right[1]), TwoFromFloats<T>(right[2], right[3])}};
    constexpr int kLoads = kTiles / 2 < 4 ? kTiles / 2 : 4;
#pragma unroll
    for (int first = 0; first < kTiles / 2; first += kLoads) {
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

// Where the results of a block's chunks go: kTiles of eight dimensions, from `first_dim` on.
template <class T, int kDim, int kTiles>
struct ChunkResults {
  const AttentionArguments<T>& a;
  const BlockRows<T>& rows;
  int warp_row;
  int first_dim = 0;
  MergedSoftmax merged[2] = {};

  // The end of a chunk: `out` and `softmax` are its result. The block may walk several; y keeps what is merged so far.
  __device__ void Finish(int chunk, bool first, bool last, const FragmentC<float> (&out)[kTiles],
                         const RunningSoftmax& softmax) {
    FinishHalf<0>(chunk, first, last, out, softmax);
    FinishHalf<1>(chunk, first, last, out, softmax);
  }

  // Of the first or the second of a thread's two rows: every index is known, so that `out` stays in registers.
  template <int kHalf>
  __device__ void FinishHalf(int chunk, bool first, bool last, const FragmentC<float> (&out)[kTiles],
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
      if (first_dim == 0 && Lane() % 4 == 0) {
        to[kDim] = softmax.largest[kHalf];
        to[kDim + 1] = sum;
      }
      first = true;
      last = false;
    } else {
      merged[kHalf].Add(softmax.largest[kHalf], sum, old, added);
    }
    // In pairs, and divided only where it is due: this is a good part of a prompt's time.
    using Two = Pack<float, 2>;
    auto* pairs = reinterpret_cast<Two*>(to + first_dim + Lane() % 4 * 2);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      Two pair = first ? Two{} : pairs[j * 4];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        pair.x[e] = fmaf(pair.x[e], old, out[j].x[2 * kHalf + e] * added);
        if (last) pair.x[e] /= merged[kHalf].sum;
      }
      pairs[j * 4] = pair;
    }
  }
};

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

}  // namespace inferflux::cuda
