// One block of a file into its place of a packed chunk: Put(chunk, lane, block, from), where `block` counts the file's
// blocks within the chunk. Private to packing.
#pragma once

#include <cstring>

#include "compute/cpu/packed_panels.h"
#include "compute/cpu/whole_scales.h"
#include "formats/quant/block_decoders.h"
#include "formats/quant/blocks.h"
#include "formats/quant/k_scales.h"
#include "formats/quant/small_floats.h"

namespace inferflux::compute::cpu {

// Four neighbouring inputs of one output: a lane of a group.
inline uint32_t Word(const void* bytes, int index) {
  uint32_t out;
  std::memcpy(&out, static_cast<const char*>(bytes) + 4 * index, 4);
  return out;
}

template <class Row>
void PutWord(Row& row, int lane, uint32_t word) {
  std::memcpy(&row[kGroup * lane], &word, 4);
}

inline constexpr uint32_t kLowNibbles = 0x0f0f0f0f;

// A block of one output, whose group g is the low four bits of groups[g]'s bytes.
inline void PutNibbles(Nibbles& q, int lane, const uint32_t (&groups)[8]) {
  for (int i = 0; i < 4; ++i) {
    PutWord(q[i], lane, (groups[i] & kLowNibbles) | (groups[i + 4] & kLowNibbles) << 4);
  }
}

inline void PutScales(ScalesK& out, int lane, const uint8_t packed[12]) {
  const auto put = [&](int i, int value, int shift_low, int shift_high) {
    out.low[i / 64][i % 64] |= static_cast<uint8_t>((value & 15) << shift_low);
    out.high[i % 64] |= static_cast<uint8_t>((value >> 4) << (shift_high + 2 * (i / 64)));
  };
  for (int b = 0; b < kBlocks; ++b) {
    const formats::ScaleMin value = formats::UnpackScaleMin(packed, b);
    put(kPanel * b + lane, value.scale, 0, 0);
    put(2 * kPanel * (b / 2) + 2 * lane + b % 2, value.min, 4, 4);
  }
}

inline Fp16 Negative(Fp16 value) { return {static_cast<uint16_t>(value.bits ^ 0x8000u)}; }

inline void Put(ChunkQ8_0& chunk, int lane, int block, const formats::BlockQ8_0& from) {
  for (int g = 0; g < 8; ++g) PutWord(chunk.q[8 * block + g], lane, Word(from.qs, g));
  chunk.d[block][lane] = from.d;
}

// Its values, -16 to 15, as Q8_0's.
inline void Put(ChunkQ8_0& chunk, int lane, int block, const formats::BlockQ5_0& from) {
  uint32_t high;
  std::memcpy(&high, from.qh, 4);
  for (int i = 0; i < kBlock; ++i) {
    const int low = (from.qs[i % 16] >> (i < 16 ? 0 : 4)) & 15;
    const int value = (low | static_cast<int>(high >> i & 1) << 4) - 16;
    chunk.q[8 * block + i / kGroup][kGroup * lane + i % kGroup] = static_cast<int8_t>(value);
  }
  chunk.d[block][lane] = from.d;
}

// The file's nibbles lie as ours do: element i below element i + 16.
inline void Put(ChunkQ4_0& chunk, int lane, int block, const formats::BlockQ4_0& from) {
  for (int i = 0; i < 4; ++i) PutWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = from.d;
}

inline void Put(ChunkQ4_1& chunk, int lane, int block, const formats::BlockQ4_1& from) {
  for (int i = 0; i < 4; ++i) PutWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = from.d;
  chunk.m[block][lane] = from.m;
}

inline void Put(ChunkQ5_1& chunk, int lane, int block, const formats::BlockQ5_1& from) {
  for (int i = 0; i < 4; ++i) PutWord(chunk.blocks[block].q[i], lane, Word(from.qs, i));
  uint32_t high;
  std::memcpy(&high, from.qh, 4);
  uint32_t bits = 0;  // of input i of a group, in byte i: bit g is the fifth bit of group g
  for (int e = 0; e < kBlock; ++e) bits |= (high >> e & 1) << (8 * (e % kGroup) + e / kGroup);
  PutWord(chunk.blocks[block].high, lane, bits);
  chunk.d[block][lane] = from.d;
  chunk.m[block][lane] = from.m;
}

inline void Put(ChunkTable4& chunk, int lane, int block, const formats::BlockIq4Nl& from) {
  for (int i = 0; i < 4; ++i) PutWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = ToFloat(from.d);
}

inline void Put(ChunkTable4& chunk, int lane, int, const formats::BlockIq4Xs& from) {
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < 4; ++i) PutWord(chunk.q[b][i], lane, Word(from.qs + 16 * b, i));
    const int scale = (from.scales_l[b / 2] >> (b % 2 * 4) & 15) | (from.scales_h >> (2 * b) & 3) << 4;
    chunk.d[b][lane] = ToFloat(from.d) * static_cast<float>(scale - 32);
  }
}

inline void Put(ChunkTable4& chunk, int lane, int block, const formats::BlockMxfp4& from) {
  for (int i = 0; i < 4; ++i) PutWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = formats::HalfOfE8m0(from.e);
}

// Runs of 32 two-bit values share bytes: run r of a half in bits 2r of its 32 bytes.
inline void Put(ChunkQ2K& chunk, int lane, int, const formats::BlockQ2_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t groups[8];
    for (int g = 0; g < 8; ++g) groups[g] = (Word(from.qs + 32 * (b / 4), g) >> (2 * (b % 4))) & 0x03030303;
    PutNibbles(chunk.q[b], lane, groups);
  }
  for (int s = 0; s < kSubs16; ++s) {
    chunk.scales[s][lane] = from.scales[s] & 15;
    chunk.minimums[s][lane] = from.scales[s] >> 4;
  }
  chunk.d[lane] = from.d;
  chunk.dmin[lane] = from.dmin;
}

// The low nibbles of block b of Q4_K and Q5_K: 32 bytes hold two blocks of 32, the first in their low halves.
template <class Block>
void PutLow(Nibbles& q, int lane, int b, const Block& from) {
  uint32_t groups[8];
  for (int g = 0; g < 8; ++g) groups[g] = Word(from.qs + 32 * (b / 2), g) >> (b % 2 == 0 ? 0 : 4);
  PutNibbles(q, lane, groups);
}

template <class Chunk, class Block>
void PutScalesAndMinimums(Chunk& chunk, int lane, const Block& from) {
  PutScales(chunk.scales, lane, from.scales);
  chunk.d[lane] = from.d;
  chunk.negative_dmin[lane] = Negative(from.dmin);
}

inline void Put(ChunkQ4K& chunk, int lane, int, const formats::BlockQ4_K& from) {
  PutScalesAndMinimums(chunk, lane, from);
  for (int b = 0; b < kBlocks; ++b) PutLow(chunk.q[b], lane, b, from);
}

inline void Put(ChunkQ5K& chunk, int lane, int, const formats::BlockQ5_K& from) {
  PutScalesAndMinimums(chunk, lane, from);
  for (int b = 0; b < kBlocks; ++b) {
    PutLow(chunk.blocks[b].q, lane, b, from);
    uint32_t bits = 0;
    for (int g = 0; g < 8; ++g) bits |= ((Word(from.qh, g) >> b) & 0x01010101) << g;
    PutWord(chunk.blocks[b].high, lane, bits);
  }
}

// Each half of 128: four runs of 32, in the nibbles ql[0..31] low, ql[32..63] low, ql[0..31] high, ql[32..63] high,
// with their two high bits in qh[0..31] from below.
inline void Put(ChunkQ6K& chunk, int lane, int, const formats::BlockQ6_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    const int half = b / 4;
    const int run = b % 4;
    uint32_t groups[8];
    for (int g = 0; g < 8; ++g) groups[g] = Word(from.ql + 64 * half + 32 * (run % 2), g) >> (run < 2 ? 0 : 4);
    PutNibbles(chunk.blocks[b].q, lane, groups);
    for (int quarter = 0; quarter < 2; ++quarter) {
      uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) {
        bits |= ((Word(from.qh + 32 * half, 4 * quarter + i) >> (2 * run)) & 0x03030303) << (2 * i);
      }
      PutWord(chunk.blocks[b].high[quarter], lane, bits);
    }
  }
  for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = from.scales[s];
  chunk.d[lane] = from.d;
}

// The same with values from -4 to 3, whose third bit is inverted in hmask.
inline void Put(ChunkQ6K& chunk, int lane, int, const formats::BlockQ3_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t groups[8];  // of value + 32, 28 to 35
    for (int g = 0; g < 8; ++g) {
      const uint32_t low = (Word(from.qs + 32 * (b / 4), g) >> (2 * (b % 4))) & 0x03030303;
      groups[g] = low + ((Word(from.hmask, g) >> b) & 0x01010101) * 4 + 0x1c1c1c1c;
    }
    PutNibbles(chunk.blocks[b].q, lane, groups);
    for (int quarter = 0; quarter < 2; ++quarter) {
      uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) bits |= ((groups[4 * quarter + i] >> 4) & 0x03030303) << (2 * i);
      PutWord(chunk.blocks[b].high[quarter], lane, bits);
    }
  }
  for (int s = 0; s < kSubs16; ++s) {
    const int low = from.scales[s % 8] >> (s / 8 * 4) & 15;
    const int high = from.scales[8 + s % 4] >> (s / 4 * 2) & 3;
    chunk.scales[s][lane] = static_cast<int8_t>((low | high << 4) - 32);
  }
  chunk.d[lane] = from.d;
}

// Those whose values are whole numbers of at most six bits, times a whole scale of 16 values and a float of all.
template <class Block>
requires requires(const Block& block) { WholeScalesOf(block); }
void Put(ChunkQ7K& chunk, int lane, int, const Block& from) {
  float values[kChunk];
  formats::DecodeBlock(from, values);
  const WholeScales whole = WholeScalesOf(from);
  for (int i = 0; i < kChunk; ++i) {
    const float number = values[i] / (whole.d * static_cast<float>(whole.scales[i / 16]));  // few bits: exact, and whole
    const bool sane = number >= -ChunkQ7K::kOffset && number < ChunkQ7K::kOffset;  // neither 0 / 0 nor a broken scale
    const int n = sane ? static_cast<int>(number) : 0;
    chunk.q[i / kGroup][kGroup * lane + i % kGroup] = static_cast<uint8_t>(n + ChunkQ7K::kOffset);
  }
  for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = whole.scales[s];
  chunk.d[lane] = whole.d;
}

}  // namespace inferflux::compute::cpu
