// Sums of byte dot products for instruction sets that add them up in int32: a whole block, with its offset. Such a
// lanes header includes this at its end.
#pragma once

#include <cstdint>

namespace inferflux::compute::cpu {
namespace {

using Sums = Ints;
using ScalePairs = Ints;
constexpr bool kSumsHoldOffsets = true;

// Groups with weights up to `most` that a Sums can hold.
constexpr int SumGroups(int /*most*/) { return 8; }
inline Sums StartSums(int32_t offset) { return SetInts(offset); }
inline Sums AddGroup(const Sums& sum, const Bytes& weights, Quad four) { return Dot(sum, weights, four); }
inline Sums AddSignedGroup(const Sums& sum, const Bytes& weights, Quad four) { return DotSigned(sum, weights, four); }
inline Sums FirstGroup(const Bytes& weights, Quad four) { return Dot(ZeroInts(), weights, four); }
inline Ints Widen(const Sums& sum, int32_t /*offset*/) { return sum; }
inline Ints AddSums(const Ints& total, const Sums& sum) { return MulAdd(sum, SetInts(1), total); }

// The type of integer scales in multiplications.
inline ScalePairs UnsignedScales(const uint8_t* p) { return WidenUnsigned(p); }
inline ScalePairs SignedScales(const int8_t* p) { return WidenSigned(p); }
inline Ints AddScaled(const Ints& total, const Sums& sum, const ScalePairs& scale) { return MulAdd(sum, scale, total); }
inline Ints AddScaledOffset(const Ints& total, int32_t offset, const ScalePairs& scale) {
  return MulAdd(SetInts(offset), scale, total);
}

}  // namespace
}  // namespace inferflux::compute::cpu
