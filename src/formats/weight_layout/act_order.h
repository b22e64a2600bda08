// Weights of a GGUF type whose inputs are permuted, as with GPTQ's act-order: groups are formed in the order of
// activation size (arXiv:2210.17323, AutoGPTQ's desc_act), so neighbouring inputs share a scale only in the order of
// the groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// A matrix of [outputs, inputs]. Multiplied by activations with the same permutation, it gives the result of the
// original weights.
struct ActOrderLayout {
  TensorType type = TensorType::kF32;
  std::span<const int32_t> order;   // column c holds the weights of input order[c]; a permutation of all inputs
  std::span<const std::byte> data;  // rows of whole blocks; empty if only the layout is described
  std::shared_ptr<const void> owner = nullptr;
};

}  // namespace inferflux::formats
