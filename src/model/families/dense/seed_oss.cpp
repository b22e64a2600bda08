// Seed-OSS (ByteDance, 2025): Llama's layer with biases on q, k and v. GGUF calls the norm before the feed-forward
// network post_attention_norm.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kSeedOssKeys = R"({
  "read": {"vocab_size": 155136, "hidden_size": 4096, "intermediate_size": 27648, "num_hidden_layers": 64,
    "num_attention_heads": 80, "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 524288,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": true, "attention_out_bias": false,
    "mlp_bias": false, "head_dim": 128, "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "nullable": ["num_key_value_heads", "head_dim"]
})";

Result<ModelConfig> ReadSeedOss(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.feed_forward_norm = "post_attention_norm"});
}

}  // namespace

const Family& SeedOss() {
  static const Family family{
      .architecture = "seed_oss",
      .read = ReadSeedOss,
      .checkpoints = {{.model_types = {"seed_oss"},
                       .keys = kSeedOssKeys,
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"}}}}};
  return family;
}

}  // namespace inferflux::model
