// Forms of weights that checkpoints have and GGUF has not. A backend takes those that it can multiply with; whoever
// does not gets the weights in the GGUF type that holds them exactly.
#pragma once

#include <string>
#include <variant>

#include "formats/affine_form.h"
#include "formats/fp8_form.h"
#include "formats/ordered_form.h"

namespace inferflux::formats {

using StoredForm = std::variant<AffineForm, Fp8Form, OrderedForm>;

// A set of them.
struct StoredForms {
  bool affine = false;
  bool fp8 = false;
  bool ordered = false;

  constexpr bool Contains(const StoredForm& form) const {
    if (std::holds_alternative<OrderedForm>(form)) return ordered;
    return std::holds_alternative<Fp8Form>(form) ? fp8 : affine;
  }
};

// "MLX 4-bit", "FP8", "Q4_0"
std::string StoredFormName(const StoredForm& form);

// Bytes of its numbers.
size_t StoredBytes(const StoredForm& form);

// Bytes that those of a matrix of [outputs, inputs] come to, whether or not they are there yet.
int64_t StoredBytes(const StoredForm& form, int64_t outputs, int64_t inputs);

// Whether its arrays have the sizes that a matrix of [outputs, inputs] makes them.
bool Fits(const StoredForm& form, int64_t outputs, int64_t inputs);

}  // namespace inferflux::formats
