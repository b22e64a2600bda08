// What the models with Mamba-2 share (arXiv:2405.21060).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/checkpoint.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// The sizes' names in config.json.
struct StateSpaceSizes {
  std::string_view heads, head_dim, groups, state, taps;
  uint32_t inner = 0;  // heads times head_dim, if it is known; then head_dim may be "auto"
};

// Sets GGUF's sizes; refuses limits of the steps, which GGUF does not store.
Status PrepareStateSpace(formats::HfConfig& config, const StateSpaceSizes& sizes);
// inner: mamba_expand times the hidden size.
Result<uint32_t> ExpandedSize(const formats::HfConfig& config, std::string_view key);

// `family`: what differs from a decoder with state spaces.
Result<ModelConfig> ReadStateSpaceModel(const ModelSource& source, int32_t context, ModelConfig family);

inline constexpr StateSpaceSizes kMambaSizes{.heads = "mamba_n_heads",
                                             .head_dim = "mamba_d_head",
                                             .groups = "mamba_n_groups",
                                             .state = "mamba_d_state",
                                             .taps = "mamba_d_conv"};

// In layers that call it "mamba".
inline constexpr TensorName kMambaTensors[] = {
    {"layers.*.mamba.in_proj", "blk.*.ssm_in"},
    {"layers.*.mamba.conv1d", "blk.*.ssm_conv1d"},
    {"layers.*.mamba.norm", "blk.*.ssm_norm", TensorChange::kGroupRows},
    {"layers.*.mamba.out_proj", "blk.*.ssm_out"},
    {"layers.*.mamba.A_log", "blk.*.ssm_a", TensorChange::kColumnOfNegatedExp, /*whole=*/true, /*complete=*/true},
    {"layers.*.mamba.D", "blk.*.ssm_d", TensorChange::kColumn, /*whole=*/true, /*complete=*/true},
    {"layers.*.mamba.dt_bias", "blk.*.ssm_dt.bias", TensorChange::kNone, /*whole=*/true, /*complete=*/true},
};

// In models whose layers have one part each, the "mixer".
inline constexpr TensorName kMixerTensors[] = {
    {"embeddings", "token_embd"},
    {"norm_f", "output_norm"},
    {"lm_head", "output"},
    {"layers.*.norm", "blk.*.attn_norm"},
    {"layers.*.mixer.in_proj", "blk.*.ssm_in"},
    {"layers.*.mixer.conv1d", "blk.*.ssm_conv1d"},
    {"layers.*.mixer.norm", "blk.*.ssm_norm", TensorChange::kGroupRows},
    {"layers.*.mixer.out_proj", "blk.*.ssm_out"},
    {"layers.*.mixer.A_log", "blk.*.ssm_a", TensorChange::kColumnOfNegatedExp, /*whole=*/true, /*complete=*/true},
    {"layers.*.mixer.D", "blk.*.ssm_d", TensorChange::kColumn, /*whole=*/true, /*complete=*/true},
    {"layers.*.mixer.dt_bias", "blk.*.ssm_dt.bias", TensorChange::kNone, /*whole=*/true, /*complete=*/true},
};

}  // namespace inferflux::model
