// The weight layout of the CPU's matmuls, the same for every instruction set, and helpers for the headers of the
// formats.
//
// A panel is 16 outputs. Its inputs come in groups of four: 64 bytes hold four consecutive inputs of each of the 16
// outputs, output by output, which is the operand of a VNNI dot product and a row of an AMX tile. A chunk is 256 inputs
// of a panel with their scales, in the order in which a matmul needs them, scales first: the hardware prefetches only
// streams of ascending cache lines. Each output has a lane, so the order of a sum over the inputs depends only on the
// number of inputs. If the inputs end within a chunk, the chunk ends after its last block of 32. Dense and FP8 panels
// have their own layouts (dense.h, fp8.h).
//
// A block format is a struct in a header of this folder:
//   kName                its name in logs
//   Chunk                the layout of 16 outputs by 256 inputs
//   kChunkTail           bytes of Chunk that a missing block of 32 inputs saves; 0 if a file's blocks are whole chunks
//   FileBlocks           the types in a file that it holds, with their blocks, of kFileBlock inputs each
//   Pack(chunk, lane, block, from)  writes block number `block` of a file within the chunk, of output `lane`
//   kInt8Matmul          true
//   kSubs                sub-blocks of a chunk that have an integer scale; absent if blocks have float scales
//   kParts               parts of a block of 32 that have a float scale each (default 1)
//   kSigned, kOffset     whether groups are signed bytes, or unsigned ones stored as value + kOffset
//   kMinimums            whether sub-blocks or blocks have a minimum too; then there is no kOffset
//   kMost, kMostScale    the highest magnitudes that a group and an integer scale can have
//   kPrefetchOneRow      whether a matmul of one row prefetches (default true). Formats that are read at full memory
//                        bandwidth leave it to the hardware prefetchers (27 to 22 GB/s on one Zen 4 thread).
// and, for the kernels, a specialisation of Unpacker (unpack_inl.h), which reads a Chunk in registers.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "formats/quant/blocks.h"
#include "formats/tensor_type.h"

namespace inferflux::compute::cpu {

inline constexpr int kPanel = 16;   // outputs
inline constexpr int kChunk = 256;  // inputs
inline constexpr int kGroup = 4;    // consecutive inputs of one output
inline constexpr int kBlock = 32;   // inputs that share a scale
inline constexpr int kBlocks = kChunk / kBlock;
inline constexpr int kGroupBytes = kPanel * kGroup;
inline constexpr int kSubs16 = kChunk / 16;  // sub-blocks of 16 inputs

// Types in a file, each with the struct of its blocks.
template <formats::TensorType kTensorType, class BlockType>
struct FileBlock {
  static constexpr formats::TensorType kType = kTensorType;
  using Block = BlockType;
};
template <class... Each>
struct FileBlockList {
  static constexpr bool Contains([[maybe_unused]] formats::TensorType type) { return ((Each::kType == type) || ...); }
};

// Whether sub-blocks have integer scales, and a chunk one float scale.
template <class Format>
inline constexpr bool kIntegerScales = requires {
  Format::kSubs;
};

// Float scales of each block of 32.
template <class Format>
constexpr int PartsOfBlock() {
  if constexpr (requires { Format::kParts; }) return Format::kParts;
  return 1;
}

// Four bits per value of a block: groups 0 to 3 in the low nibbles, 4 to 7 in the high ones.
using Nibbles = uint8_t[4][kGroupBytes];
// Two bits per value of a block: groups 4h to 4h + 3 in [h], lowest bits first.
using TwoBits = uint8_t[2][kGroupBytes];
struct FiveBits {
  uint8_t high[kGroupBytes];  // bit g: the fifth bit of group g
  Nibbles q;
};

// Four consecutive inputs of one output: a lane of a group.
inline uint32_t Word(const void* bytes, int index) {
  uint32_t out;
  std::memcpy(&out, static_cast<const char*>(bytes) + 4 * index, 4);
  return out;
}

template <class Row>
void PackWord(Row& row, int lane, uint32_t word) {
  std::memcpy(&row[kGroup * lane], &word, 4);
}

// A block of one output, whose group g is the low four bits of groups[g]'s bytes.
inline void PackNibbles(Nibbles& q, int lane, const uint32_t (&groups)[8]) {
  constexpr uint32_t kLow = 0x0f0f0f0f;
  for (int i = 0; i < 4; ++i) PackWord(q[i], lane, (groups[i] & kLow) | (groups[i + 4] & kLow) << 4);
}

// The same from a file's 16 bytes, which store element i below element i + 16, as Nibbles do.
inline void CopyNibbles(Nibbles& q, int lane, const uint8_t* qs) {
  for (int i = 0; i < 4; ++i) PackWord(q[i], lane, Word(qs, i));
}

// A block of one output, whose group g is the low two bits of groups[g]'s bytes.
inline void PackTwoBits(TwoBits& q, int lane, const uint32_t (&groups)[8]) {
  for (int half = 0; half < 2; ++half) {
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= (groups[4 * half + i] & 0x03030303) << (2 * i);
    PackWord(q[half], lane, bits);
  }
}

// Bit g of each byte: bit b of that byte of group g.
inline uint32_t BitOfGroups(const uint8_t* groups, int b) {
  uint32_t bits = 0;
  for (int g = 0; g < 8; ++g) bits |= ((Word(groups, g) >> b) & 0x01010101) << g;
  return bits;
}

// For Q5_0 and Q5_1, whose low nibbles have our order; input i of a group has its fifth bits in byte i.
template <class Block>
void PackFiveBits(FiveBits& q, int lane, const Block& from) {
  CopyNibbles(q.q, lane, from.qs);
  uint32_t high;
  std::memcpy(&high, from.qh, 4);
  uint32_t bits = 0;
  for (int e = 0; e < kBlock; ++e) bits |= (high >> e & 1) << (8 * (e % kGroup) + e / kGroup);
  PackWord(q.high, lane, bits);
}

// The two low bits of block b of Q2_K and Q3_K: runs of 32 values share bytes, run r of a half in bits 2r of its 32
// bytes.
template <class Block>
void LowTwoBits(const Block& from, int b, uint32_t (&groups)[8]) {
  for (int g = 0; g < 8; ++g) groups[g] = (Word(from.qs + 32 * (b / 4), g) >> (2 * (b % 4))) & 0x03030303;
}

}  // namespace inferflux::compute::cpu
