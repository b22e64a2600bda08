// What Command R and Command R7B share.
#pragma once

#include <cstdint>

#include "model/families/common.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {

// `window_period`: as in ReadDecoderConfig. The logits are multiplied by the file's logit scale.
inline Result<ModelConfig> ReadCohere(const ModelSource& source, int32_t context, int32_t window_period) {
  auto config = ReadDecoderConfig(source, context,
                                  {.rope_style = compute::RopeStyle::kInterleaved,
                                   .layer_norm = true,
                                   .norm_bias = false,
                                   .feed_forward_norm = "",
                                   .parallel = true},
                                  window_period);
  if (!config) return config;
  const auto scale = ReadNumber(source, config->architecture + ".logit_scale", 0.0625f, 1e-6f, 1e6f);
  if (!scale) return Forward(scale);
  config->logit_scale = *scale;
  return config;
}

}  // namespace inferflux::model
