// How weights and activations lie in memory for the CPU's products. Plain data, the same for every instruction set.
//
// A panel is 16 outputs. Its inputs come in groups of four: 64 bytes hold four consecutive inputs of each of the 16
// outputs, output by output, which is what a VNNI dot product takes and what an AMX tile row is. A chunk is 256 inputs
// of a panel with everything that belongs to them, in the order in which a product needs it, scales first: the machine
// prefetches a stream that it sees go forwards line by line, and nothing else. Outputs live in lanes: the order in
// which a sum over the inputs is formed depends on nothing but the number of inputs.
//
// Where the inputs end within a chunk, it ends behind the last block of 32 that it has. Dense panels have no chunks:
// F32 and F16 lie as [inputs][16 outputs], BF16 as [inputs / 2][16 outputs][2 inputs], which is what the bfloat16 dot
// products take. FP8 has chunks of its own, of 128 inputs, all of them whole.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace inferflux::compute::cpu {

inline constexpr int kPanel = 16;   // outputs
inline constexpr int kChunk = 256;  // inputs
inline constexpr int kGroup = 4;    // inputs side by side
inline constexpr int kBlock = 32;   // inputs that share a scale
inline constexpr int kBlocks = kChunk / kBlock;
inline constexpr int kGroupBytes = kPanel * kGroup;

inline constexpr int kSubs16 = kChunk / 16;  // sub-blocks of 16 inputs

enum class PanelFormat {
  kF32,
  kF16,
  kBf16,
  kFp8,
  kQ8_0,
  kZeroPoint4By32,
  kZeroPoint4By128,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kIq4Nl,
  kIq4Xs,
  kFp4,
  kNvFp4,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K,
  kCodebook
};
inline constexpr int kPanelFormats = 21;

inline constexpr int kFp8Inputs = 128;  // a chunk of 8-bit floats

struct alignas(64) ChunkFp8 {  // value = scale * (q / 256), rounded; a scale that is NaN where a weight of its is
  float scales[kPanel];
  Fp8 q[kFp8Inputs][kPanel];
};

// Four bits of a block: groups 0 to 3 in the low nibbles, 4 to 7 in the high ones.
using Nibbles = uint8_t[4][kGroupBytes];
// Two bits of a block: groups 4h to 4h + 3 in [h], from below.
using TwoBits = uint8_t[2][kGroupBytes];
struct FiveBits {
  uint8_t high[kGroupBytes];  // bit g: the fifth bit of group g
  Nibbles q;
};

struct alignas(64) ChunkQ8_0 {
  Fp16 d[kBlocks][kPanel];
  int8_t q[kChunk / kGroup][kGroupBytes];
};

inline constexpr int kZeroPoint4Run = 4;

// Q8_0 whose numbers are at most 15 above the lowest of kRun blocks, 1 or kZeroPoint4Run, which share a scale:
// value = d * (q + lowest).
template <int kRun>
struct alignas(64) ChunkZeroPoint4 {
  Fp16 d[kBlocks / kRun][kPanel];
  int8_t lowest[kBlocks / kRun][kPanel];
  alignas(64) Nibbles q[kBlocks];
};

struct alignas(64) ChunkQ4_0 {  // value = d * (q - 8)
  Fp16 d[kBlocks][kPanel];
  Nibbles q[kBlocks];
};

struct alignas(64) ChunkQ4_1 {  // value = d * q + m
  Fp16 d[kBlocks][kPanel];
  Fp16 m[kBlocks][kPanel];
  Nibbles q[kBlocks];
};

struct alignas(64) ChunkQ5_0 {  // value = d * (q - 16)
  Fp16 d[kBlocks][kPanel];
  FiveBits q[kBlocks];
};

struct alignas(64) ChunkQ5_1 {  // value = d * q + m
  Fp16 d[kBlocks][kPanel];
  Fp16 m[kBlocks][kPanel];
  FiveBits q[kBlocks];
};

struct alignas(64) ChunkIq4Nl {  // value = d * table[q], of 16 signed bytes
  Fp16 d[kBlocks][kPanel];
  Nibbles q[kBlocks];
};

struct alignas(64) ChunkFp4 {  // value = d * (table[q] - 12), of 16 doubled four-bit floats
  Bf16 d[kBlocks][kPanel];     // powers of two, of which Fp16 has too few
  Nibbles q[kBlocks];
};

struct alignas(64) ChunkNvFp4 {  // the same with a scale for each 16 inputs
  Bf16 d[kSubs16][kPanel];
  Nibbles q[kBlocks];
};

struct alignas(64) ChunkIq4Xs {  // value = d * scale * table[q]
  int8_t scales[kBlocks][kPanel];
  Fp16 d[kPanel];
  alignas(64) Nibbles q[kBlocks];
};

struct alignas(64) ChunkQ2K {       // value = d * scale * q - dmin * minimum; a scale and a minimum for each 16 inputs
  uint8_t scales[kSubs16][kPanel];  // four bits; the minimums in the four above them
  Fp16 d[kPanel];
  Fp16 dmin[kPanel];
  TwoBits q[kBlocks];
};

struct alignas(64) ChunkQ3K {  // value = d * scale * (q - 4); a scale for each 16 inputs
  int8_t scales[kSubs16][kPanel];
  alignas(64) Fp16 d[kPanel];
  struct alignas(64) {
    uint8_t high[kGroupBytes];  // bit g: the third bit of group g
    TwoBits q;
  } blocks[kBlocks];
};

// The 6-bit scales and minimums of the eight blocks. Scale i = 16 * block + output; minimum
// i = 32 * (block / 2) + 2 * output + block % 2, so that those of two blocks lie side by side.
struct ScalesK {
  uint8_t low[2][64];  // low[i / 64][i % 64]: the low four bits of scale i below, those of minimum i above
  uint8_t high[64];    // the two high bits of, from below, scale i, scale 64 + i, minimum i, minimum 64 + i
};

struct alignas(64) ChunkQ4K {  // value = d * scale * q + negative_dmin * minimum
  ScalesK scales;
  Fp16 d[kPanel];
  Fp16 negative_dmin[kPanel];
  Nibbles q[kBlocks];
};

struct alignas(64) ChunkQ5K {
  ScalesK scales;
  Fp16 d[kPanel];
  Fp16 negative_dmin[kPanel];
  FiveBits q[kBlocks];
};

struct alignas(64) ChunkQ6K {  // value = d * scale * (q - 32); a scale for each 16 inputs
  int8_t scales[kSubs16][kPanel];
  alignas(64) Fp16 d[kPanel];
  struct alignas(64) {
    TwoBits high;  // bits 5 and 6
    Nibbles q;
  } blocks[kBlocks];
};

// What lattices are made of: at most 16 different numbers. value = d * scale * (table[q] - 64); a scale for each 16
// inputs.
struct alignas(64) ChunkCodebook {
  static constexpr int kOffset = 64;
  static constexpr int kNumbers = 16;
  int8_t scales[kSubs16][kPanel];
  alignas(64) float d[kPanel];
  int8_t table[kNumbers];  // from 1 to 127
  alignas(64) Nibbles q[kBlocks];
};

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

}  // namespace inferflux::compute::cpu
