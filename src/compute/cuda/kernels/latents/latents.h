// Attention over latents (compute/latent_kv.h), for any mix of prefill and decode. A slot holds one row for all heads:
// the latent, then the rotated key. KvPointers::keys is [slots, latent + rotated], and ::values the rows [slots, index]
// by which positions are selected. Types and scales as of compute/cuda/kernels/attention/attention.h.
#pragma once

#include "compute/cuda/kernels/attention/attention.h"

namespace inferflux::cuda {

// Stores each row's latent and rotated key, one after the other, at its slot.
template <class S>
Status AppendLatents(Rows<const float> latents, Rows<const float> rotated, const int32_t* slots, KvPointers<S> kv,
                     Stream stream);

// Stores each row's index key at its slot.
template <class S>
Status AppendIndex(Rows<const float> k, const int32_t* slots, KvPointers<S> kv, Stream stream);

// The positions that each row reads, ascending: those of row r are the first min(top, position + 1) from r * top on.
struct SelectedPositions {
  const int32_t* positions = nullptr;  // [rows, top] in device memory; null: all up to the row's own
  int32_t top = 0;
};

// The keys [begin, end) of what a row reads. None if begin >= end.
struct RowChunk {
  const int32_t* table = nullptr;   // of the row's sequence
  const int32_t* chosen = nullptr;  // the positions by key; null: key k is at position k
  int begin = 0;
  int end = 0;

  __device__ int64_t Slot(const StepArrays& step, int key) const {
    return step.Slot(table, chosen != nullptr ? chosen[key] : key);
  }
};

// Positions of a chunk of what a row reads.
inline constexpr int32_t kLatentChunk = 1024;

template <class S>
struct LatentArguments {
  Rows<const float> q;        // [rows, heads * latent]
  Rows<const float> rotated;  // [rows, heads * rotated]
  KvPointers<const S> kv;
  StepArrays step;
  int32_t heads = 0;
  int32_t latent = 0;
  int32_t width = 0;  // latent and rotated key
  float scale = 1.0f;
  SelectedPositions selected;
  float* y = nullptr;  // dense [rows, heads * latent]
  // What a row reads is cut into chunks of kLatentChunk positions, which are computed by blocks of their own and
  // merged in order. As many as any row has; with more than one their results meet in `partial`
  // [rows, heads, chunks, latent + 2].
  int32_t chunks = 1;
  float* partial = nullptr;

  // How many positions a row reads.
  __device__ int Count(int64_t row) const {
    const int seen = step.positions[row] + 1;
    return selected.positions != nullptr && seen > selected.top ? selected.top : seen;
  }

  __device__ RowChunk Chunk(int64_t row, int chunk) const {
    RowChunk out;
    out.table = step.block_tables + step.table_starts[step.sequences[row]];
    if (selected.positions != nullptr) out.chosen = selected.positions + row * selected.top;
    out.begin = chunk * kLatentChunk;
    const int count = Count(row);
    out.end = count - out.begin < kLatentChunk ? count : out.begin + kLatentChunk;
    return out;
  }
};

// softmax(scale * (q . latent + rotated q . rotated key)) latents. A row is computed by itself, so its result does not
// depend on what else is in the step, nor on how its prompt was cut, nor on the number of chunks.
template <class S>
Status AttendLatents(const LatentArguments<S>& arguments, Stream stream);

// The same by tensor cores, of latents and rotated keys as wide as DeepSeek's and their descendants' are, with a block
// for each row, 32 heads and chunk. T is Fp16 or Bf16. `q` and `rotated`: the arguments', rounded.
inline constexpr int kTiledLatent = 512;
inline constexpr int kTiledRotated = 64;
template <class T>
Status AttendLatentsByTiles(const LatentArguments<T>& arguments, Rows<const T> q, Rows<const T> rotated, Stream stream);

// Merges the chunks' results; both of them do it.
template <class S>
Status MergeChunks(const LatentArguments<S>& arguments, Stream stream);

template <class S>
struct IndexArguments {
  Rows<const float> q;        // [rows, heads * head_dim]
  Rows<const float> weights;  // [rows, heads]
  KvPointers<const S> kv;
  StepArrays step;
  compute::IndexParams params;
  int64_t first = 0;        // of the rows that are scored
  int64_t count = 0;        // of them
  int32_t length = 0;       // at most so many positions have any of them
  float* scores = nullptr;  // [count, length]
};

// The score of each position up to a row's own: the sum over heads of weight * max(0, q . k) (arXiv:2512.02556).
template <class S>
Status ScorePositions(const IndexArguments<S>& arguments, Stream stream);

// The `top` positions with the highest of those scores, ascending; the lower one on ties. Not-a-number is the lowest
// score. All positions where there are at most `top`. `positions`: [count, top], of the rows from `first` on.
Status BestPositions(const float* scores, int32_t length, const int32_t* row_positions, int64_t first, int64_t count,
                     int32_t top, int32_t* positions, Stream stream);

}  // namespace inferflux::cuda
