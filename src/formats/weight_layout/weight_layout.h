// Weight layouts of checkpoints that GGUF does not have. A backend takes those that its matmul supports. Other backends
// get the weights in the GGUF type that holds them exactly.
#pragma once

#include <string>
#include <variant>

#include "formats/weight_layout/act_order.h"
#include "formats/weight_layout/affine_layout.h"
#include "formats/weight_layout/fp8_layout.h"

namespace inferflux::formats {

using WeightLayout = std::variant<AffineLayout, Fp8Layout, ActOrderLayout>;

// A set of layouts.
struct WeightLayouts {
  bool affine = false;
  bool fp8 = false;
  bool ordered = false;

  constexpr bool Contains(const WeightLayout& layout) const {
    if (std::holds_alternative<ActOrderLayout>(layout)) return ordered;
    return std::holds_alternative<Fp8Layout>(layout) ? fp8 : affine;
  }
};

// "MLX 4-bit", "FP8", "Q4_0"
std::string WeightLayoutName(const WeightLayout& layout);

// Bytes of its arrays.
size_t StoredBytes(const WeightLayout& layout);

// Bytes of the arrays of a matrix of [outputs, inputs], whether or not they are present yet.
int64_t StoredBytes(const WeightLayout& layout, int64_t outputs, int64_t inputs);

// Whether its arrays have the sizes for a matrix of [outputs, inputs].
bool Fits(const WeightLayout& layout, int64_t outputs, int64_t inputs);

}  // namespace inferflux::formats
