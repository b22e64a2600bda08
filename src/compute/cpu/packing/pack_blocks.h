// One block of a file into its place of a packed chunk: PackBlock(chunk, lane, block, from), where `block` counts the
// file's blocks within the chunk. Private to packing.
#pragma once

#include <cstdlib>
#include <cstring>

#include "compute/cpu/packing/integer_scales.h"
#include "compute/cpu/packing/packed_panels.h"
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
void PackWord(Row& row, int lane, uint32_t word) {
  std::memcpy(&row[kGroup * lane], &word, 4);
}

inline constexpr uint32_t kLowNibbles = 0x0f0f0f0f;

// A block of one output, whose group g is the low four bits of groups[g]'s bytes.
inline void PackNibbles(Nibbles& q, int lane, const uint32_t (&groups)[8]) {
  for (int i = 0; i < 4; ++i) {
    PackWord(q[i], lane, (groups[i] & kLowNibbles) | (groups[i + 4] & kLowNibbles) << 4);
  }
}

inline void PackScales(ScalesK& out, int lane, const uint8_t packed[12]) {
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

inline void PackBlock(ChunkQ8_0& chunk, int lane, int block, const formats::BlockQ8_0& from) {
  for (int g = 0; g < 8; ++g) PackWord(chunk.q[8 * block + g], lane, Word(from.qs, g));
  chunk.d[block][lane] = from.d;
}

// The file's nibbles lie as ours do: element i below element i + 16.
inline void PackBlock(ChunkQ4_0& chunk, int lane, int block, const formats::BlockQ4_0& from) {
  for (int i = 0; i < 4; ++i) PackWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = from.d;
}

inline void PackBlock(ChunkQ4_1& chunk, int lane, int block, const formats::BlockQ4_1& from) {
  for (int i = 0; i < 4; ++i) PackWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = from.d;
  chunk.m[block][lane] = from.m;
}

// Bit g of each byte: bit b of that byte of group g.
inline uint32_t BitOfGroups(const uint8_t* groups, int b) {
  uint32_t bits = 0;
  for (int g = 0; g < 8; ++g) bits |= ((Word(groups, g) >> b) & 0x01010101) << g;
  return bits;
}

// A block of one output, whose group g is the low two bits of groups[g]'s bytes.
inline void PackTwoBits(TwoBits& q, int lane, const uint32_t (&groups)[8]) {
  for (int half = 0; half < 2; ++half) {
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= (groups[4 * half + i] & 0x03030303) << (2 * i);
    PackWord(q[half], lane, bits);
  }
}

// The low nibbles of Q5_0 and Q5_1 lie as ours do; input i of a group has its fifth bits in byte i.
template <class Block>
void PackFiveBits(FiveBits& q, int lane, const Block& from) {
  for (int i = 0; i < 4; ++i) PackWord(q.q[i], lane, Word(from.qs, i));
  uint32_t high;
  std::memcpy(&high, from.qh, 4);
  uint32_t bits = 0;
  for (int e = 0; e < kBlock; ++e) bits |= (high >> e & 1) << (8 * (e % kGroup) + e / kGroup);
  PackWord(q.high, lane, bits);
}

inline void PackBlock(ChunkQ5_0& chunk, int lane, int block, const formats::BlockQ5_0& from) {
  PackFiveBits(chunk.q[block], lane, from);
  chunk.d[block][lane] = from.d;
}

inline void PackBlock(ChunkQ5_1& chunk, int lane, int block, const formats::BlockQ5_1& from) {
  PackFiveBits(chunk.q[block], lane, from);
  chunk.d[block][lane] = from.d;
  chunk.m[block][lane] = from.m;
}

inline void PackBlock(ChunkIq4Nl& chunk, int lane, int block, const formats::BlockIq4Nl& from) {
  for (int i = 0; i < 4; ++i) PackWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = from.d;
}

inline void PackBlock(ChunkIq4Xs& chunk, int lane, int, const formats::BlockIq4Xs& from) {
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < 4; ++i) PackWord(chunk.q[b][i], lane, Word(from.qs + 16 * b, i));
    const int scale = (from.scales_l[b / 2] >> (b % 2 * 4) & 15) | (from.scales_h >> (2 * b) & 3) << 4;
    chunk.scales[b][lane] = static_cast<int8_t>(scale - 32);
  }
  chunk.d[lane] = from.d;
}

inline void PackBlock(ChunkFp4& chunk, int lane, int block, const formats::BlockMxfp4& from) {
  for (int i = 0; i < 4; ++i) PackWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = ToBf16(formats::HalfOfE8m0(from.e));  // exact
}

// 64 values; of each 16 the first eight below, the others above.
inline void PackBlock(ChunkNvFp4& chunk, int lane, int block, const formats::BlockNvfp4& from) {
  for (int half = 0; half < 2; ++half) {
    uint32_t groups[8];
    for (int sub = 0; sub < 2; ++sub) {
      const int s = 2 * half + sub;
      chunk.d[4 * block + s][lane] = ToBf16(formats::HalfOfUe4m3(from.scales[s]));  // exact
      for (int i = 0; i < 4; ++i) groups[4 * sub + i] = Word(from.qs + 8 * s, i % 2) >> (i < 2 ? 0 : 4);
    }
    PackNibbles(chunk.q[2 * block + half], lane, groups);
  }
}

// Block b's two bits of Q2_K and Q3_K: runs of 32 values share bytes, run r of a half in bits 2r of its 32 bytes.
template <class Block>
void LowTwoBits(const Block& from, int b, uint32_t (&groups)[8]) {
  for (int g = 0; g < 8; ++g) groups[g] = (Word(from.qs + 32 * (b / 4), g) >> (2 * (b % 4))) & 0x03030303;
}

inline void PackBlock(ChunkQ2K& chunk, int lane, int, const formats::BlockQ2_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t groups[8];
    LowTwoBits(from, b, groups);
    PackTwoBits(chunk.q[b], lane, groups);
  }
  for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = from.scales[s];
  chunk.d[lane] = from.d;
  chunk.dmin[lane] = from.dmin;
}

// The third bit is in hmask.
inline void PackBlock(ChunkQ3K& chunk, int lane, int, const formats::BlockQ3_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t groups[8];
    LowTwoBits(from, b, groups);
    PackTwoBits(chunk.blocks[b].q, lane, groups);
    PackWord(chunk.blocks[b].high, lane, BitOfGroups(from.hmask, b));
  }
  for (int s = 0; s < kSubs16; ++s) {
    const int low = from.scales[s % 8] >> (s / 8 * 4) & 15;
    const int high = from.scales[8 + s % 4] >> (s / 4 * 2) & 3;
    chunk.scales[s][lane] = static_cast<int8_t>((low | high << 4) - 32);
  }
  chunk.d[lane] = from.d;
}

// The low nibbles of block b of Q4_K and Q5_K: 32 bytes hold two blocks of 32, the first in their low halves.
template <class Block>
void PackLow(Nibbles& q, int lane, int b, const Block& from) {
  uint32_t groups[8];
  for (int g = 0; g < 8; ++g) groups[g] = Word(from.qs + 32 * (b / 2), g) >> (b % 2 == 0 ? 0 : 4);
  PackNibbles(q, lane, groups);
}

template <class Chunk, class Block>
void PackScalesAndMinimums(Chunk& chunk, int lane, const Block& from) {
  PackScales(chunk.scales, lane, from.scales);
  chunk.d[lane] = from.d;
  chunk.negative_dmin[lane] = Negative(from.dmin);
}

inline void PackBlock(ChunkQ4K& chunk, int lane, int, const formats::BlockQ4_K& from) {
  PackScalesAndMinimums(chunk, lane, from);
  for (int b = 0; b < kBlocks; ++b) PackLow(chunk.q[b], lane, b, from);
}

inline void PackBlock(ChunkQ5K& chunk, int lane, int, const formats::BlockQ5_K& from) {
  PackScalesAndMinimums(chunk, lane, from);
  for (int b = 0; b < kBlocks; ++b) {
    PackLow(chunk.q[b].q, lane, b, from);
    PackWord(chunk.q[b].high, lane, BitOfGroups(from.qh, b));
  }
}

// Each half of 128: four runs of 32, in the nibbles ql[0..31] low, ql[32..63] low, ql[0..31] high, ql[32..63] high,
// with their two high bits in qh[0..31] from below.
inline void PackBlock(ChunkQ6K& chunk, int lane, int, const formats::BlockQ6_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    const int half = b / 4;
    const int run = b % 4;
    uint32_t groups[8];
    for (int g = 0; g < 8; ++g) groups[g] = Word(from.ql + 64 * half + 32 * (run % 2), g) >> (run < 2 ? 0 : 4);
    PackNibbles(chunk.blocks[b].q, lane, groups);
    for (int g = 0; g < 8; ++g) groups[g] = Word(from.qh + 32 * half, g) >> (2 * run);
    PackTwoBits(chunk.blocks[b].high, lane, groups);
  }
  for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = from.scales[s];
  chunk.d[lane] = from.d;
}

// The 256 values of a block as whole numbers.
template <class Block>
void DecodeNumbers(const Block& from, const IntegerScales& whole, int (&numbers)[kChunk]) {
  float values[kChunk];
  formats::DecodeBlock(from, values);
  for (int i = 0; i < kChunk; ++i) {
    const float number =
        values[i] / (whole.d * static_cast<float>(whole.scales[i / 16]));  // few bits: exact, and whole
    const bool sane = std::abs(number) < 64;                               // neither 0 / 0 nor a broken scale
    numbers[i] = sane ? static_cast<int>(number) : 0;
  }
}

// Number n of magnitude m[i] is the table's entry 2i, or 2i + 1 where it is positive. There is no 0 among them.
template <class Block>
requires requires(const Block& block) { IntegerScalesOf(block); }
void PackBlock(ChunkCodebook& chunk, int lane, int, const Block& from) {
  const IntegerScales whole = IntegerScalesOf(from);
  int numbers[kChunk];
  DecodeNumbers(from, whole, numbers);
  uint8_t index_of[64] = {};  // by magnitude
  for (size_t i = 0; i < whole.magnitudes.size(); ++i) {
    const int8_t magnitude = whole.magnitudes[i];
    index_of[magnitude] = static_cast<uint8_t>(2 * i);
    chunk.table[2 * i] = static_cast<int8_t>(ChunkCodebook::kOffset - magnitude);
    chunk.table[2 * i + 1] = static_cast<int8_t>(ChunkCodebook::kOffset + magnitude);
  }
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t groups[8] = {};
    for (int i = 0; i < kBlock; ++i) {
      const int n = numbers[kBlock * b + i];
      groups[i / kGroup] |= static_cast<uint32_t>(index_of[std::abs(n)] + (n > 0 ? 1 : 0)) << (8 * (i % kGroup));
    }
    PackNibbles(chunk.q[b], lane, groups);
  }
  for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = whole.scales[s];
  chunk.d[lane] = whole.d;
}

// Ternary numbers, -1 to 1, as Q2_K's: each a value of 0 to 2 less a minimum of 1.
template <class Block>
requires requires(const Block& block) { IntegerScalesOf(block); }
void PackBlock(ChunkQ2K& chunk, int lane, int, const Block& from) {
  int numbers[kChunk];
  DecodeNumbers(from, IntegerScalesOf(from), numbers);
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t groups[8] = {};
    for (int i = 0; i < kBlock; ++i) {
      groups[i / kGroup] |= static_cast<uint32_t>(numbers[kBlock * b + i] + 1) << (8 * (i % kGroup));
    }
    PackTwoBits(chunk.q[b], lane, groups);
  }
  for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = 0x11;
  chunk.d[lane] = chunk.dmin[lane] = from.d;
}

}  // namespace inferflux::compute::cpu
