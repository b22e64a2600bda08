// Attention over paged KV, and the KV's append. A slot holds the keys, or the values, of one token: [kv_heads,
// head_dim], stored as S (compute::KvFp16::Storage and the others). int8_t has a float a token and head in addition, by
// which the stored numbers are multiplied: [slots, kv_heads]. The slot of a sequence's position p is table[p /
// block_size] * block_size + p % block_size.
#pragma once

#include <vector>

#include "compute/cuda/device/language.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// A step's geometry (compute::StepGeometry) in device memory.
struct StepArrays {
  const int32_t* positions = nullptr;     // [rows]
  const int32_t* query_starts = nullptr;  // [sequences + 1]
  const int32_t* table_starts = nullptr;  // [sequences + 1]
  const int32_t* block_tables = nullptr;
  int32_t block_size = 0;
  int32_t block_shift = -1;            // the logarithm of block_size, where that is a power of two: divisions take long
  const int32_t* sequences = nullptr;  // [rows]: the sequence of each row

  // The slot of a sequence's position, from its part of block_tables.
  __device__ int64_t Slot(const int32_t* table, int32_t position) const {
    if (block_shift >= 0) {
      return (int64_t{table[position >> block_shift]} << block_shift) + (position & (block_size - 1));
    }
    return int64_t{table[position / block_size]} * block_size + position % block_size;
  }
};

// A block's share of a step: `queries` rows of one sequence from row `first` on, with all heads of one KV head.
struct AttentionTile {
  int32_t sequence, first, queries;
};

// The shares of a whole step, for any mix of prefill and decode. `group`: heads of one KV head, at most 64.
std::vector<AttentionTile> AttentionTiles(const compute::StepGeometry& step, int32_t group);

// KV is read in chunks that begin at absolute multiples of so many positions; each chunk has a softmax of its own, and
// they are merged in order.
inline constexpr int32_t kAttentionChunk = 512;

// AttentionParams::First, on the device.
__device__ inline int FirstSeen(const compute::AttentionParams& params, int position) {
  if (params.window <= 0) return 0;
  if (params.chunked) return position / params.window * params.window;
  return position >= params.window ? position - params.window + 1 : 0;
}

template <class T>
struct AttentionArguments {
  Rows<const float> q;        // [rows, heads * head_dim], rounded to T
  const T* keys = nullptr;    // [slots, kv_heads, head_dim]
  const T* values = nullptr;  // the same
  StepArrays step;
  const AttentionTile* tiles = nullptr;  // in device memory
  int32_t tile_count = 0;
  int32_t most_queries = 0;  // of any tile
  compute::AttentionParams params;
  float* y = nullptr;  // dense [rows, heads * head_dim]
  // Split KV, for few tiles and long contexts: each chunk is a block's, and their results meet in `partial`
  // [rows, heads, chunks, head_dim + 2]. `chunks`: as many as any sequence of the step has. 0: a block walks the chunks
  // of its tile. The bits are the same.
  int32_t chunks = 0;
  float* partial = nullptr;
};

// softmax(q.k * scale) . v with grouped heads, a window and a soft cap, by FlashAttention-2's tiling
// (arXiv:2307.08691). T is Fp16 or Bf16; head_dim is 32, 64 or 128. KV is read in tiles that begin at absolute
// multiples of 64 positions, so that a row's result does not depend on what else is in the step, nor on how its prompt
// was cut.
template <class T>
Status Attend(const AttentionArguments<T>& arguments, Stream stream);

// Keys and values in device memory; scales only with int8_t.
template <class S>
struct KvPointers {
  S* keys = nullptr;
  S* values = nullptr;
  float* key_scales = nullptr;
  float* value_scales = nullptr;
};

// The same for any stored type, width of heads, sinks and biases, without tensor cores. S is float, Fp16, Bf16, int8_t
// or Fp8.
template <class S>
struct PlainAttentionArguments {
  Rows<const float> q;  // [rows, heads * head_dim]
  KvPointers<const S> kv;
  StepArrays step;
  compute::AttentionParams params;
  const float* sinks = nullptr;   // [heads], or null: compute::AttentionSinks
  const float* biases = nullptr;  // [heads, distances], or null: compute::AttentionBiases
  int64_t distances = 0;
  float* y = nullptr;  // dense [rows, heads * head_dim]
};
template <class S>
Status AttendPlainly(const PlainAttentionArguments<S>& arguments, Stream stream);

// Stores each row's keys and values [rows, kv_heads * head_dim] at its slot (one a row, in device memory).
template <class S>
Status AppendKv(Rows<const float> k, Rows<const float> v, int32_t kv_heads, const int32_t* slots, KvPointers<S> kv,
                Stream stream);

}  // namespace inferflux::cuda
