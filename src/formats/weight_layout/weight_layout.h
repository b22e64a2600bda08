// Forms of weights that checkpoints have and GGUF has not. A backend takes those that it can multiply with; whoever
// does not gets the weights in the GGUF type that holds them exactly.
#pragma once

#include <string>
#include <variant>

#include "formats/weight_layout/act_order.h"
#include "formats/weight_layout/affine_layout.h"
#include "formats/weight_layout/fp8_layout.h"

namespace inferflux::formats {

using WeightLayout = std::variant<AffineLayout, Fp8Layout, ActOrderLayout>;

// A set of them.
struct WeightLayouts {
  bool affine = false;
  bool fp8 = false;
  bool ordered = false;

  constexpr bool Contains(const WeightLayout& form) const {
    if (std::holds_alternative<ActOrderLayout>(form)) return ordered;
    return std::holds_alternative<Fp8Layout>(form) ? fp8 : affine;
  }
};

// "MLX 4-bit", "FP8", "Q4_0"
std::string WeightLayoutName(const WeightLayout& form);

// Bytes of its numbers.
size_t StoredBytes(const WeightLayout& form);

// Bytes that those of a matrix of [outputs, inputs] come to, whether or not they are there yet.
int64_t StoredBytes(const WeightLayout& form, int64_t outputs, int64_t inputs);

// Whether its arrays have the sizes that a matrix of [outputs, inputs] makes them.
bool Fits(const WeightLayout& form, int64_t outputs, int64_t inputs);

}  // namespace inferflux::formats
