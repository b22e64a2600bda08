// Mamba-2 (arXiv:2405.21060): state spaces in all layers, and nothing else.
#include <string_view>

#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/hybrid/state_space.h"

namespace inferflux::model {
namespace {

// What concerns the steps (time_step_*) is for training, except the bounds.
constexpr std::string_view kMamba2Keys = R"({
  "read": {"num_heads": 128, "head_dim": 64, "vocab_size": 32768, "hidden_size": 4096, "state_size": 128,
    "num_hidden_layers": 64, "layer_norm_epsilon": 1e-05, "expand": 2, "conv_kernel": 4, "n_groups": 8,
    "use_bias": false, "use_conv_bias": true, "hidden_act": "silu",
    "time_step_limit": [0.0, {"__float__": "Infinity"}], "tie_word_embeddings": false,
    "max_position_embeddings": null},
  "only": {"rms_norm": [true]},
  "unused": ["chunk_size", "intermediate_size", "norm_before_gate", "rescale_prenorm_residual", "residual_in_fp32",
    "time_step_floor", "time_step_init_scheme", "time_step_max", "time_step_min", "time_step_rank", "time_step_scale"]
})";

Status PrepareMamba2(formats::HfConfig& config) {
  constexpr uint32_t kContext = 1 << 20;  // GGUF files give this to models that have no longest context
  config.rms_norm_eps = config.layer_norm_eps;
  config.layer_norm_eps.reset();
  SetDefault(config.max_position, kContext);
  auto inner = ExpandedSize(config, "expand");
  if (!inner) return Forward(inner);
  return PrepareStateSpace(config, {.heads = "num_heads",
                                    .head_dim = "head_dim",
                                    .groups = "n_groups",
                                    .state = "state_size",
                                    .taps = "conv_kernel",
                                    .inner = *inner});
}

Result<ModelConfig> ReadMamba2(const ModelSource& source, int32_t context) {
  auto config = ReadStateSpaceModel(source, context, {.attention = false});
  if (!config) return config;
  for (LayerKind& kind : config->layer_kinds) kind.feed_forward = false;
  return config;
}

}  // namespace

const Family& Mamba2() {
  static const Family family{.architecture = "mamba2",
                             .read = ReadMamba2,
                             .checkpoints = {{.model_types = {"mamba2"},
                                              .keys = kMamba2Keys,
                                              .attention = false,
                                              .tensors = {kMixerTensors},
                                              .prefixes = {"model.backbone.", "backbone.", "model."},
                                              .prepare = PrepareMamba2}}};
  return family;
}

}  // namespace inferflux::model
