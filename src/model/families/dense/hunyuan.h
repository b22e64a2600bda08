// What the Hunyuan models share.
#pragma once

#include <cmath>

#include "base/result.h"
#include "model/families/checkpoint.h"
#include "model/model_config.h"

namespace inferflux::model {

// Norms on the heads of q and k, after they are rotated.
inline constexpr TensorName kHunyuanNorms[] = {
    {"layers.*.self_attn.query_layernorm", "blk.*.attn_q_norm"},
    {"layers.*.self_attn.key_layernorm", "blk.*.attn_k_norm"},
};

// "dynamic" scaling with an alpha is one fixed base (NTK-aware), which GGUF files have in place of the original one.
inline Status PrepareHunyuan(formats::HfConfig& config) {
  if (!config.rope_scaling || config.rope_scaling->type != "dynamic" || !config.rope_scaling->alpha) return {};
  const double alpha = *config.rope_scaling->alpha;
  if (!(alpha > 0.0) || config.head_dim < 4) {
    return Fail(ErrorCode::kDataLoss, "{}: RoPE's alpha is {} for heads of {} dimensions", config.raw.source(), alpha,
                config.head_dim);
  }
  const double dims = config.head_dim;
  config.rope_theta = config.rope_theta.value_or(10000.0) * std::pow(alpha, dims / (dims - 2.0));
  config.rope_scaling.reset();
  return {};
}

}  // namespace inferflux::model
