// Command R and Aya (Cohere, 2024): attention and feed-forward network side by side under one LayerNorm without bias,
// tied embeddings, scaled logits. Neighbouring dimensions rotate.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/parallel/cohere.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kCommandRKeys = R"({
  "read": {"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528, "logit_scale": 0.0625,
    "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": null, "hidden_act": "silu",
    "max_position_embeddings": 8192, "layer_norm_eps": 1e-05, "tie_word_embeddings": true, "attention_bias": false,
    "head_dim": null, "rope_theta": 500000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"use_qk_norm": [false, null], "partial_rotary_factor": [null, 1.0]},
  "unused": ["model_max_length"],
  "nullable": ["logit_scale", "layer_norm_eps"]
})";

Result<ModelConfig> ReadCommandR(const ModelSource& source, int32_t context) {
  if (source.Find("blk.0.attn_q_norm.weight") != nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: LayerNorms with a weight for each head of q and k are not supported",
                source.path());
  }
  return ReadCohere(source, context, 0);
}

}  // namespace

const Family& CommandR() {
  static const Family family{
      .architecture = "command-r",
      .read = ReadCommandR,
      .checkpoints = {{.model_types = {"cohere"}, .keys = kCommandRKeys, .numbers = {{"logit_scale", "logit_scale"}}}}};
  return family;
}

}  // namespace inferflux::model
