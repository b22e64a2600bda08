// Block-quantised weights in the layout of tiles. Integer scales are multiplied into the weights: each result has two
// bytes, a signed high one and an unsigned low one, each in its own tile. Included after the lanes header.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compute/cpu/kernels/simd/prefetch.h"
#include "compute/cpu/weight_formats/unpack_inl.h"
#include "compute/cpu/weight_formats/weight_formats.h"

namespace inferflux::compute::cpu {
namespace {

// A chunk of a panel in the layout of tiles.
struct alignas(64) TileWeights {
  uint8_t low[kChunk * kPanel];  // signed if there is no high byte
  int8_t high[kChunk * kPanel];
};

template <class Source>
constexpr int OffsetOfWeights() {
  if constexpr (requires { Source::kOffset; }) return Source::kOffset;
  return 0;
}

template <class Source>
constexpr bool kOneByte = Source::kMinimums&& Source::kMost* Source::kMostScale <= UINT8_MAX;

// Two inputs of a group, minus their offset, times the output's scale, in 16 bits.
template <class Source>
inline Pairs Scaled(Pairs weights, Pairs scale) {
  constexpr int kOffset = OffsetOfWeights<Source>();
  if constexpr (kOffset != 0) weights = _mm512_sub_epi16(weights, _mm512_set1_epi16(kOffset));
  return _mm512_mullo_epi16(weights, scale);
}

// One block. Scales have at most 8 bits and weights 6, or 7 with a sign, so their results fit int16.
template <class Source>
requires kIntegerScales<Source>
inline void UnpackBlock(const Source& w, int block, TileWeights& out) {
  constexpr int kSubsInBlock = Source::kSubs / kBlocks;
  constexpr int kGroups = 8 / kSubsInBlock;
  const Bytes low_bytes = _mm512_set1_epi16(0x00ff);
#pragma GCC unroll 2
  for (int h = 0; h < kSubsInBlock; ++h) {
    const int sub = kSubsInBlock * block + h;
    const Pairs scale = PairOf(w.Scale(sub), w.Scale(sub));
#pragma GCC unroll 8
    for (int i = 0; i < kGroups; ++i) {
      const int g = kGroups * h + i;
      const Bytes weights = w.Group(block, g);
      const Pairs even = Scaled<Source>(_mm512_and_si512(weights, low_bytes), scale);
      const Pairs odd = Scaled<Source>(_mm512_srli_epi16(weights, 8), scale);
      const Bytes low = _mm512_or_si512(_mm512_and_si512(even, low_bytes), _mm512_slli_epi16(odd, 8));
      StoreBytes(out.low + kGroupBytes * (8 * block + g), low);
      if constexpr (!kOneByte<Source>) {
        const Bytes high = _mm512_or_si512(_mm512_srli_epi16(even, 8), _mm512_andnot_si512(low_bytes, odd));
        StoreBytes(out.high + kGroupBytes * (8 * block + g), high);
      }
    }
  }
}

template <class Source>
requires(!kIntegerScales<Source>) inline void UnpackBlock(const Source& w, int block, TileWeights& out) {
  const Bytes offset = _mm512_set1_epi8(static_cast<char>(OffsetOfWeights<Source>()));
#pragma GCC unroll 8
  for (int g = 0; g < 8; ++g) {
    Bytes weights = w.Group(block, g);
    weights = Source::kSigned ? FromSigned(weights) : _mm512_sub_epi8(weights, offset);  // the former: back
    StoreBytes(out.low + kGroupBytes * (8 * block + g), weights);
  }
}

// These already have the layout of tiles.
inline void UnpackBlock(const Unpacker<Q8_0>&, int, TileWeights&) {}
inline const void* LowTiles(const Unpacker<Q8_0>& w, const TileWeights&) { return w.chunk.q; }
template <class Source>
inline const void* LowTiles(const Source&, const TileWeights& weights) {
  return weights.low;
}

// Unpacks the first `blocks` blocks of a chunk one by one, so that vector units work while tiles multiply another
// chunk.
template <class Source>
class Unpacking {
 public:
  template <class Chunk>
  Unpacking(const Chunk& chunk, int blocks, const Prefetch& prefetch, TileWeights& out)
      : w_(chunk), blocks_(blocks), prefetch_(prefetch), step_(prefetch.StepOf(std::max(1, blocks))), out_(out) {}

  // Up to `count` of `all`.
  void Until(int64_t count, int64_t all) {
    for (; block_ * all < blocks_ * count; ++block_) {
      prefetch_.Fetch(step_);
      UnpackBlock(w_, block_, out_);
    }
  }
  void Finish() { Until(1, 1); }

 private:
  Source w_;
  int64_t blocks_;
  Prefetch prefetch_;
  int64_t step_;
  TileWeights& out_;
  int block_ = 0;
};

}  // namespace
}  // namespace inferflux::compute::cpu
