// What Qwen3.5 and its MoE models share, beyond gated DeltaNet.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/hybrid/delta_net.h"

namespace inferflux::model {

// GGUF has the value heads in another order (formats::HfValueHeads).
inline constexpr TensorName kTiledDeltaNet[] = {
    {"layers.*.linear_attn.in_proj_qkv", "blk.*.attn_qkv", TensorChange::kTileLastRows},
    {"layers.*.linear_attn.in_proj_z", "blk.*.attn_gate", TensorChange::kTileRows},
    {"layers.*.linear_attn.in_proj_b", "blk.*.ssm_beta", TensorChange::kTileRows},
    {"layers.*.linear_attn.in_proj_a", "blk.*.ssm_alpha", TensorChange::kTileRows},
    {"layers.*.linear_attn.conv1d", "blk.*.ssm_conv1d", TensorChange::kTileLastRows},
    {"layers.*.linear_attn.out_proj", "blk.*.ssm_out", TensorChange::kTileColumns},
    {"layers.*.linear_attn.A_log", "blk.*.ssm_a", TensorChange::kTileNegatedExp, /*whole=*/true, /*complete=*/true},
    {"layers.*.linear_attn.dt_bias", "blk.*.ssm_dt.bias", TensorChange::kTileRows, /*whole=*/true, /*complete=*/true},
};

// The text model by itself, or inside one that also sees images: then it has a prefix, and the rest is not read.
inline const std::vector<std::string_view> kQwen35Prefixes{"model.language_model.", "language_model.model.",
                                                           "language_model.", "model."};
inline const std::vector<std::string_view> kNotQwen35Text{"*.rotary_emb.inv_freq", "mtp.*", "visual.*"};

Status PrepareQwen35(formats::HfConfig& config);
Result<ModelConfig> ReadQwen35(const ModelSource& source, int32_t context);

}  // namespace inferflux::model
