// StableLM 3B and StableLM 2 (arXiv:2402.17834): LayerNorm, a quarter of each head rotates; without a norm before the
// feed-forward network it runs beside attention.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kStableLmKeys = R"({
  "read": {"vocab_size": 50304, "intermediate_size": 6912, "hidden_size": 2560, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 4096,
    "layer_norm_eps": 1e-05, "tie_word_embeddings": false, "use_qkv_bias": false, "use_parallel_residual": false,
    "rope_theta": 10000.0, "partial_rotary_factor": 0.25, "rope_parameters": null, "rope_scaling": null},
  "only": {"qk_layernorm": [false]}
})";

Result<ModelConfig> ReadStableLm(const ModelSource& source, int32_t context) {
  if (source.Find("blk.0.attn_q_norm.weight") != nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: LayerNorms with a weight for each head of q and k are not supported",
                source.path());
  }
  const bool parallel = source.Find("blk.0.ffn_norm.weight") == nullptr;
  return ReadDecoderConfig(source, context,
                           {.layer_norm = true, .feed_forward_norm = parallel ? "" : "ffn_norm", .parallel = parallel});
}

}  // namespace

const Family& StableLm() {
  static const Family family{.architecture = "stablelm",
                             .read = ReadStableLm,
                             .checkpoints = {{.model_types = {"stablelm"}, .keys = kStableLmKeys}}};
  return family;
}

}  // namespace inferflux::model
