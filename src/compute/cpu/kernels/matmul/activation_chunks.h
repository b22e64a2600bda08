// Activations as int8 matmuls read them: rows of chunks from quantize_blocks or quantize_chunk.
#pragma once

#include <cstdint>

#include "compute/cpu/weight_formats/panel.h"

namespace inferflux::compute::cpu {

// 256 activations of one row as int8. Two variants use the same record: by block, one scale for 32 inputs (Q8_0, Q4_0
// and the like; NVFP4 weights have two per 32); by chunk, one scale for all 256 (the K types).
struct alignas(64) ActivationChunk {
  int8_t q[kChunk];
  union {
    // Initial sums for weights stored as value + offset: -offset * (sum of the block's q). By block: [8], or [16] if
    // weights have a scale for 16 inputs; by chunk: one per 16 inputs, for Q6_K's offset of 32.
    int32_t offsets[kSubs16];
    // By chunk, with int16 sums, which cannot start from an offset: the sums of q over 16 inputs.
    int16_t sums16[kSubs16];
  };
  float scales[kBlocks];  // by chunk: only [0]
  int16_t sums[kBlocks];  // of each block's q, for the minimums
  // By chunk: bounds on the sums of |q| times weights of 0 or 1 over a block of 32, and of -1 to 1 over 16. While a
  // bound fits int16, the sum can be computed in int16.
  int32_t highest32;
  union {
    int32_t highest16;
    // With int16 sums: the bound for weights of 0 or 1, over the half of 16 inputs that one int16 adds up.
    int32_t highest8;
  };
};

inline constexpr int kLaneRows = 8;
inline constexpr int kLaneVectors = 8;  // at most, in one RowLaneChunk

// The same activations by chunk for V times eight rows, with the rows in lanes: a vector holds what four inputs of one
// output are multiplied with.
template <int V>
struct alignas(64) RowLaneChunk {
  static constexpr int kRows = V * kLaneRows;

  int8_t q[kChunk / kGroup][kRows][kGroup];
  int16_t sums[kBlocks / 2][kRows][2];  // sums of q over 32 inputs, two adjacent
  int16_t sums16[kSubs16 / 2][kRows][2];
  float scales[kRows];
  // Over all rows; the same bounds as in ActivationChunk.
  alignas(64) int32_t highest32;
  int32_t highest8;
};
// Bytes per vector; V vectors take at most V times this.
inline constexpr int64_t kLaneVectorBytes = sizeof(RowLaneChunk<1>);

inline constexpr int kFewestLaneVectors = 3;

// Vectors for `rows` rows of a task, at most 64, or 0 if the rows are too few. A remainder of less than half a vector
// is multiplied row by row.
constexpr int64_t LaneVectorsOf(int64_t rows) {
  return rows < kFewestLaneVectors * kLaneRows ? 0 : (rows + kLaneRows / 2) / kLaneRows;
}

}  // namespace inferflux::compute::cpu
