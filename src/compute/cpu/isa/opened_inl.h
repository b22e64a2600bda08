// A chunk of weights unpacked once for the tiles of many rows, where to unpack it anew for each tile takes longer than
// to store it and read it again. Included once an instruction set, after its lanes header.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "compute/cpu/isa/weight_sources_inl.h"
#include "compute/cpu/packed_panels.h"

namespace inferflux::compute::cpu {
namespace {

// Scales and minimums are kept as bytes: a struct of lanes would be copied 16 bytes at a time, which stalls a load of
// 32.
inline void StoreLanes(void* p, Bytes v) { StoreBytes(p, v); }
inline void StoreLanes(void* p, Floats v) { StoreFloats(static_cast<float*>(p), v); }
template <class T>
inline T LoadLanes(const void* p) {
  if constexpr (std::is_same_v<T, Floats>) {
    return LoadFloats(static_cast<const float*>(p));
  } else {
    return LoadBytes(p);
  }
}

template <class Source>
struct Opened : Source {
  using ScaleLanes = decltype(std::declval<const Source&>().Scale(0));
  static constexpr int kScales = [] {
    if constexpr (requires { Source::kSubs; }) return Source::kSubs;
    return kBlocks;
  }();
  static constexpr bool kPairsOfMinimums = requires(const Source& packed) { packed.Minimums(0); };
  alignas(64) uint8_t groups[kChunk / kGroup][kGroupBytes];
  alignas(64) uint8_t scales[kScales][64];
  alignas(64) uint8_t minimums[kPairsOfMinimums ? kBlocks / 2 : 1][64];

  explicit Opened(const auto& chunk) : Source{chunk} {
    const Source& packed = *this;
    for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 8  // so that shifts are constants
      for (int g = 0; g < 8; ++g) StoreBytes(groups[8 * block + g], packed.Group(block, g));
    }
    for (int i = 0; i < kScales; ++i) StoreLanes(scales[i], packed.Scale(i));
    if constexpr (kPairsOfMinimums) {
      for (int two = 0; two < kBlocks / 2; ++two) StoreLanes(minimums[two], packed.Minimums(two));
    }
  }
  ScaleLanes Scale(int i) const { return LoadLanes<ScaleLanes>(scales[i]); }
  Pairs Minimums(int two) const { return LoadLanes<Pairs>(minimums[two]); }
};

// Keeps the compiler from deriving one pointer from another: where they lie far apart it would use one with long
// displacements, and instructions that long come too slowly (on Zen 3, three quarters of the rate of short ones).
template <class T>
inline void KeepApart(T*& pointer) {
  asm("" : "+r"(pointer));
}

// Goes through the blocks of an opened chunk and of M rows of activations at once. The loops that use it are written out
// in both kinds of tiles: as one function here they cost Q6_K 7% (GCC 12, Zen 3).
template <int M, class Source>
class OpenedBlocks {
 public:
  OpenedBlocks(const Opened<Source>& w, const ActivationChunk* x) : scales_(w.scales[0]) {
    for (int half = 0; half < 2; ++half) KeepApart(halves_[half] = w.groups[4 * half + 2]);
    for (int m = 0; m < M; ++m) KeepApart(rows_[m] = x[m].q);
    KeepApart(scales_);
  }
  void Next() {
    for (auto& half : halves_) Advance(half, 8 * kGroupBytes);
    for (auto& row : rows_) Advance(row, kBlock);
    Advance(scales_, 64 * Opened<Source>::kScales / kBlocks);
  }

  Bytes Weights(int group) const { return LoadBytes(halves_[group / 4] + kGroupBytes * (group % 4 - 2)); }
  Quad Inputs(int row, int group) const { return LoadQuad(rows_[row] + kGroup * group); }
  // `sub`: in the block.
  auto Scale(int sub) const { return LoadLanes<typename Opened<Source>::ScaleLanes>(scales_ + 64 * sub); }

 private:
  template <class T>
  static void Advance(T*& pointer, int64_t by) {
    pointer += by;
    KeepApart(pointer);
  }

  const uint8_t* halves_[2];  // the middle of four groups, so that displacements are a byte
  const int8_t* rows_[M];
  const uint8_t* scales_;
};

}  // namespace
}  // namespace inferflux::compute::cpu
