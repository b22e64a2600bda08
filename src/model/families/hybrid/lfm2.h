// What the LFM2 models share.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/checkpoint.h"
#include "model/families/config_settings.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// All but the feed-forward networks.
inline constexpr TensorName kLfm2Tensors[] = {
    {"embedding_norm", "token_embd_norm"},
    {"layers.*.operator_norm", "blk.*.attn_norm"},
    {"layers.*.ffn_norm", "blk.*.ffn_norm"},
    {"layers.*.self_attn.out_proj", "blk.*.attn_output"},
    {"layers.*.self_attn.q_layernorm", "blk.*.attn_q_norm"},
    {"layers.*.self_attn.k_layernorm", "blk.*.attn_k_norm"},
    {"layers.*.conv.conv", "blk.*.shortconv.conv"},
    {"layers.*.conv.in_proj", "blk.*.shortconv.in_proj"},
    {"layers.*.conv.out_proj", "blk.*.shortconv.out_proj"},
};

// GGUF gives layers without attention no KV heads.
Status PrepareLfm2(formats::HfConfig& config);
Result<ModelConfig> ReadLfm2(const ModelSource& source, int32_t context, ModelConfig family);

}  // namespace inferflux::model
