// Weights of one of GGUF's types whose inputs stand in an order of their own, as those of GPTQ's act-order do: an
// input's group goes by how large its activations are (arXiv:2210.17323, as AutoGPTQ's desc_act packs it), and only in
// the order of groups do neighbours share a scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// A matrix of [outputs, inputs]. Its product with activations whose inputs were put in the same order is that of the
// weights as they were.
struct ActOrderLayout {
  TensorType type = TensorType::kF32;
  std::span<const int32_t> order;   // column c holds the weights of input order[c]; a permutation of all inputs
  std::span<const std::byte> data;  // rows of whole blocks; empty where only the form is told
  std::shared_ptr<const void> owner = nullptr;
};

}  // namespace inferflux::formats
