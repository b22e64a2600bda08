// The formats that the CPU holds weights in: a row of WeightFormats for each. Everything else that differs by format is
// derived from the list: PanelFormat, the format of each type in a file, packing, and the tables of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "compute/cpu/weight_formats/codebook.h"
#include "compute/cpu/weight_formats/dense.h"
#include "compute/cpu/weight_formats/fp8.h"
#include "compute/cpu/weight_formats/iq4_nl.h"
#include "compute/cpu/weight_formats/iq4_xs.h"
#include "compute/cpu/weight_formats/mxfp4.h"
#include "compute/cpu/weight_formats/nvfp4.h"
#include "compute/cpu/weight_formats/q2_k.h"
#include "compute/cpu/weight_formats/q3_k.h"
#include "compute/cpu/weight_formats/q4_0.h"
#include "compute/cpu/weight_formats/q4_1.h"
#include "compute/cpu/weight_formats/q4_k.h"
#include "compute/cpu/weight_formats/q5_0.h"
#include "compute/cpu/weight_formats/q5_1.h"
#include "compute/cpu/weight_formats/q5_k.h"
#include "compute/cpu/weight_formats/q6_k.h"
#include "compute/cpu/weight_formats/q8_0.h"
#include "compute/cpu/weight_formats/zero_point_4.h"

namespace inferflux::compute::cpu {

template <class... Formats>
struct FormatList {
  static constexpr int kCount = sizeof...(Formats);
};

using WeightFormats =
    FormatList<DenseF32, DenseF16, DenseBf16, ChunkedFp8,                                //
               Q8_0, ZeroPoint4<1>, ZeroPoint4<kZeroPoint4Run>, Q4_0, Q4_1, Q5_0, Q5_1,  // with float scales
               Iq4Nl, Iq4Xs, Mxfp4, Nvfp4,                                               //
               Q2K, Q3K, Q4K, Q5K, Q6K, Codebook>;                                       // with integer scales

// The number of a format's row.
enum class PanelFormat : uint8_t {};
inline constexpr int kPanelFormats = WeightFormats::kCount;
constexpr int IndexOf(PanelFormat format) { return static_cast<int>(format); }

// Calls use.operator()<Format>() for every kParts-th format from row kPart on.
template <int kPart = 0, int kParts = 1, class Use>
constexpr void ForFormats(const Use& use) {
  const auto each = [&]<int... kIndex, class... Formats>(std::integer_sequence<int, kIndex...>,
                                                         FormatList<Formats...>) {
    const auto one = [&]<int kRow, class Format>() {
      if constexpr (kRow % kParts == kPart) use.template operator()<Format>();
    };
    (one.template operator()<kIndex, Formats>(), ...);
  };
  each(std::make_integer_sequence<int, kPanelFormats>(), WeightFormats());
}

template <class Format>
constexpr PanelFormat FormatOf() {
  int row = 0, found = -1;
  ForFormats([&]<class Each>() {
    if (std::is_same_v<Each, Format>) found = row;
    ++row;
  });
  return PanelFormat(found);
}

// The format that holds a type of a file exactly; types without their own format are decoded to F32.
constexpr PanelFormat FormatOf(formats::TensorType type) {
  PanelFormat out = FormatOf<DenseF32>();
  ForFormats([&]<class Each>() {
    if (Each::FileBlocks::Contains(type)) out = FormatOf<Each>();
  });
  return out;
}

// Whether a type needs no decoding.
constexpr bool HasPanels(formats::TensorType type) {
  return type == formats::TensorType::kF32 || FormatOf(type) != FormatOf<DenseF32>();
}

// How activations are converted for a matmul with a format.
struct ActivationLayout {
  enum class Kind {
    kFloats,
    kBf16,
    kBlocks,  // int8, a scale for each 32 inputs
    kHalves,  // the same, with offsets for each 16
    kChunks   // int8, a scale for each 256 inputs
  };
  static constexpr int32_t kSignedOffset = -1;  // Kernels::signed_offset
  Kind kind = Kind::kFloats;
  int32_t offset = 0;  // weights are stored as value + offset
  bool operator==(const ActivationLayout&) const = default;
};

template <class Format>
constexpr ActivationLayout ActivationLayoutOf() {
  using Kind = ActivationLayout::Kind;
  if constexpr (!Format::kInt8Matmul) {
    return {Format::kBf16Activations ? Kind::kBf16 : Kind::kFloats};
  } else if constexpr (kIntegerScales<Format>) {
    return {Kind::kChunks};
  } else if constexpr (Format::kSigned || Format::kMinimums) {
    return {Kind::kBlocks, ActivationLayout::kSignedOffset};
  } else {
    return {PartsOfBlock<Format>() == 1 ? Kind::kBlocks : Kind::kHalves, Format::kOffset};
  }
}

}  // namespace inferflux::compute::cpu
