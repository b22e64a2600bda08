// Activations as int8 matmuls read them: rows of chunks, made by quantize_blocks or quantize_chunk.
#pragma once

#include <cstdint>

#include "compute/cpu/weight_formats/panel.h"

namespace inferflux::compute::cpu {

// 256 activations of one row as int8. Two flavours use the same record:
// by block, one scale for 32 inputs (Q8_0, Q4_0 and the like; NVFP4 has two of its own); by chunk, one scale for all
// 256 (the K types).
struct alignas(64) ActivationChunk {
  int8_t q[kChunk];
  union {
    // What a sum starts from where weights are stored as value + offset: -offset * (sum of the block's q). By block:
    // [8], or [16] where weights have a scale for 16 inputs; by chunk: of each 16 inputs, for Q6_K's offset of 32.
    int32_t offsets[kSubs16];
    // By chunk where sums are int16, and so can't start from them: of the q of each 16 inputs.
    int16_t sums16[kSubs16];
  };
  float scales[kBlocks];  // by chunk: only [0]
  int16_t sums[kBlocks];  // of each block's q, for the minimums
  // By chunk: the highest magnitude that q can add up to, times a weight of 0 or 1 each over a block of 32, and times
  // one of -1 to 1 over 16. What does not pass int16 may be multiplied as such.
  int32_t highest32;
  union {
    int32_t highest16;
    // Where sums are int16: times a weight of 0 or 1 each over the half of 16 inputs that is added up in one of them.
    int32_t highest8;
  };
};

inline constexpr int kLaneRows = 8;
inline constexpr int kLaneVectors = 8;  // at most, as one RowLaneChunk

// The same activations by chunk of V times eight rows, with the rows in lanes: what a vector multiplies with four
// inputs of one output.
template <int V>
struct alignas(64) RowLaneChunk {
  static constexpr int kRows = V * kLaneRows;

  int8_t q[kChunk / kGroup][kRows][kGroup];
  int16_t sums[kBlocks / 2][kRows][2];  // of the q of each 32, two side by side
  int16_t sums16[kSubs16 / 2][kRows][2];
  float scales[kRows];
  // Of all rows, as ActivationChunk has them of one.
  alignas(64) int32_t highest32;
  int32_t highest8;
};
// Bytes of each vector; those of V take no more than V of them.
inline constexpr int64_t kLaneVectorBytes = sizeof(RowLaneChunk<1>);

inline constexpr int kFewestLaneVectors = 3;

// Vectors that `rows` rows of a task, at most 64, are multiplied in, or 0 where they are too few. What fills less than
// half a vector is left to be multiplied row by row.
constexpr int64_t LaneVectorsOf(int64_t rows) {
  return rows < kFewestLaneVectors * kLaneRows ? 0 : (rows + kLaneRows / 2) / kLaneRows;
}

}  // namespace inferflux::compute::cpu
