// What a decoder-only model is, whatever file it came from. A family's file (families/) fills it from metadata; the one
// forward pass (layer_forward.h) reads it. Knobs are named after what they do, never after a family.
#pragma once

#include <cstdint>
#include <string>

#include "compute/params.h"

namespace inferflux::model {

struct ModelConfig {
  std::string architecture;  // as the file names it

  int32_t vocab_size = 0;
  int32_t hidden = 0;
  int32_t layers = 0;
  int32_t heads = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int32_t feed_forward = 0;
  int32_t context = 0;  // tokens that the model was trained for

  float norm_epsilon = 1e-5f;
  compute::RopeStyle rope_style = compute::RopeStyle::kHalves;
  compute::RopeSpec rope;
  float attention_scale = 1.0f;
  int32_t sliding_window = 0;  // 0: a token sees all before it
  bool qkv_bias = false;
  bool qk_norm = false;  // RMSNorm on each head of q and k, before RoPE
  compute::Activation activation = compute::Activation::kSilu;
};

}  // namespace inferflux::model
