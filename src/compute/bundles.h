// The common sets of concepts, by name.
#pragma once

#include "compute/backend.h"
#include "compute/optional_ops.h"

namespace inferflux::compute {

// What the dense families need: a backend with these runs decoders and encoders with float weights. Families with sinks
// or experts need more.
template <class B, class Kv>
concept LlmBackend = PagedKv<B, Kv> && OpensDevices<B> && LayerNorms<B> && Activations<B> && SoftCaps<B>;

// Also the quantised weights that most files have. A backend that lacks a type may load it as another one.
template <class B, class Kv>
concept QuantLlmBackend = LlmBackend<B, Kv> && TensorScales<B> && QuantWeights<B, formats::TensorType::kQ4_0> &&
    QuantWeights<B, formats::TensorType::kQ8_0> && QuantWeights<B, formats::TensorType::kQ4_K>;

// Also mixture of experts (MoE), including gpt-oss' sinks.
template <class B, class Kv>
concept MoeLlmBackend = QuantLlmBackend<B, Kv> && MoeRouting<B> && AttentionSinks<B, Kv>;

}  // namespace inferflux::compute
