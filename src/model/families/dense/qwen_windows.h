// The windows of the Qwen models, as their configuration classes say which layers have one.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

// Without use_sliding_window no layer has a window. Otherwise, where config.json lists no layer_types, those layers
// have one for which `windowed(layer, max_window_layers)` is true.
inline Status PrepareQwenWindows(formats::HfConfig& config, bool (*windowed)(uint32_t layer, uint32_t limit)) {
  if (!config.use_sliding_window.value_or(false)) config.sliding_window.reset();
  if (!config.sliding_window || !config.layer_types.empty()) return {};
  const auto limit = config.raw.Get<uint32_t>("max_window_layers");
  if (!limit) return Forward(limit);
  for (uint32_t i = 0; i < config.layers; ++i) {
    config.layer_types.push_back(windowed(i, *limit) ? "sliding_attention" : "full_attention");
  }
  return {};
}

// Of Qwen2 and Qwen3: all layers after the first ones.
inline Status PrepareLateWindows(formats::HfConfig& config) {
  return PrepareQwenWindows(config, [](uint32_t layer, uint32_t limit) { return layer >= limit; });
}

}  // namespace inferflux::model
