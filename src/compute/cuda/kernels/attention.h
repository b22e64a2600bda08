// Attention over paged KV, and the KV's append. A slot holds the keys, or the values, of one token: [kv_heads,
// head_dim]. The slot of a sequence's position p is table[p / block_size] * block_size + p % block_size.
#pragma once

#include <vector>

#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// A step's geometry (compute::StepGeometry) in device memory.
struct StepArrays {
  const int32_t* positions = nullptr;     // [rows]
  const int32_t* query_starts = nullptr;  // [sequences + 1]
  const int32_t* table_starts = nullptr;  // [sequences + 1]
  const int32_t* block_tables = nullptr;
  int32_t block_size = 0;
};

// A block's share of a step: `queries` rows of one sequence from row `first` on, with all heads of one KV head.
struct AttentionTile {
  int32_t sequence, first, queries;
};

// The shares of a whole step, for any mix of prefill and decode. `group`: heads of one KV head, at most 64.
std::vector<AttentionTile> AttentionTiles(const compute::StepGeometry& step, int32_t group);

template <class T>
struct AttentionArguments {
  Rows<const T> q;            // [rows, heads * head_dim]
  const T* keys = nullptr;    // [slots, kv_heads, head_dim]
  const T* values = nullptr;  // the same
  StepArrays step;
  const AttentionTile* tiles = nullptr;  // in device memory
  int32_t tile_count = 0;
  compute::AttentionParams params;
  T* y = nullptr;  // dense [rows, heads * head_dim]
};

// softmax(q.k * scale) . v with grouped heads, a window and a soft cap, by FlashAttention-2's tiling
// (arXiv:2307.08691). T is Fp16 or Bf16; head_dim is 32, 64 or 128. KV is read in tiles that begin at absolute
// multiples of 64 positions, so that a row's result does not depend on what else is in the step, nor on how its prompt
// was cut.
template <class T>
Status Attend(const AttentionArguments<T>& arguments, Stream stream);

// Stores each row's keys and values [rows, width] at its slot (one a row, in device memory).
template <class T>
Status AppendKv(Rows<const T> k, Rows<const T> v, const int32_t* slots, T* keys, T* values, Stream stream);

}  // namespace inferflux::cuda
