// gpt-oss (arXiv:2508.10925): a sink in each head's softmax, a window on every other layer, YaRN with a ramp between
// whole pairs, biases everywhere, and experts with a clamped gate. GGUF calls the norm before the experts
// post_attention_norm.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/rope_scaling.h"

namespace inferflux::model {

Result<ModelConfig> ReadGptOss(const ModelSource& source, int32_t context) {
  ModelConfig family{.feed_forward_norm = "post_attention_norm",
                     .attention_sinks = true,
                     .qkv_bias = true,
                     .activation = compute::Activation::kClampedSwiglu,
                     .moe = {.routing = {.normalise = true}}};
  auto config = ReadDecoderConfig(source, context, std::move(family), 2);
  if (!config) return config;
  auto rope = ReadRope(source, *config, context == 0 ? config->context : context, {.round_yarn_ramp = false});
  if (!rope) return Forward(rope);
  config->ropes = {std::move(*rope)};
  return config;
}

}  // namespace inferflux::model
