// Command R7B and Command A (arXiv:2504.00698): Command R with a window on three of four layers; only these rotate.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/parallel/cohere.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kCohere2Keys = R"({
  "read": {"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528, "logit_scale": 0.0625,
    "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": null, "hidden_act": "silu",
    "max_position_embeddings": 8192, "layer_norm_eps": 1e-05, "tie_word_embeddings": true, "attention_bias": false,
    "sliding_window": 4096, "layer_types": null, "sliding_window_pattern": null, "head_dim": null,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"use_qk_norm": [false], "position_embedding_type": ["rope_gptj"], "rotary_pct": [1.0],
    "order_of_interleaved_layers": ["local_attn_first"], "use_parallel_block": [true], "use_gated_activation": [true],
    "partial_rotary_factor": [null, 1.0]},
  "unused": ["use_embedding_sharing", "use_parallel_embedding", "layer_switch", "model_max_length"],
  "nullable": ["sliding_window"]
})";

Result<ModelConfig> ReadCohere2(const ModelSource& source, int32_t context) {
  auto config = ReadCohere(source, context, 4);
  if (!config) return config;
  if (auto read = RotateWindowedLayersOnly(source, 4, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& Cohere2() {
  static const Family family{
      .architecture = "cohere2",
      .read = ReadCohere2,
      .checkpoints = {{.model_types = {"cohere2"}, .keys = kCohere2Keys, .numbers = {{"logit_scale", "logit_scale"}}}}};
  return family;
}

}  // namespace inferflux::model
