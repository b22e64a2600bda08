// Falcon 7B, 40B and Falcon 2 (arXiv:2311.16867): attention and a plain feed-forward network side by side under one
// LayerNorm, or under one each. Checkpoints store q, k and v by KV head; GGUF stores all of q first.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kFalconKeys = R"({
  "read": {"vocab_size": 65024, "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
    "num_ln_in_parallel_attn": null, "layer_norm_epsilon": 1e-05, "num_kv_heads": null,
    "new_decoder_architecture": false, "multi_query": true, "parallel_attn": true, "bias": false,
    "max_position_embeddings": 2048, "ffn_hidden_size": null, "tie_word_embeddings": true, "rope_theta": 10000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"alibi": [false, null], "activation": ["gelu"], "apply_residual_connection_post_layernorm": [false],
    "partial_rotary_factor": [null, 1.0]},
  "names": {"n_embed": "hidden_size"}
})";

Status PrepareFalcon(formats::HfConfig& config) {
  const auto sequential = config.raw.Get<bool>("parallel_attn");
  if (!sequential) return Forward(sequential);
  const auto grouped = config.raw.Get<bool>("new_decoder_architecture");
  if (!grouped) return Forward(grouped);
  if (!*sequential && !*grouped) {
    return Fail(ErrorCode::kUnsupported, "{}: parallel_attn is false; only true is supported", config.raw.source());
  }
  const auto one_head = config.raw.Get<bool>("multi_query");
  if (!one_head) return Forward(one_head);
  const auto heads = config.raw.GetOr<uint32_t>("num_kv_heads", config.heads);
  if (!heads) return Forward(heads);
  config.kv_heads = *grouped ? *heads : *one_head ? 1 : config.heads;
  if (config.kv_heads == 0 || config.heads % config.kv_heads != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: num_attention_heads {} is not a multiple of num_kv_heads {}",
                config.raw.source(), config.heads, config.kv_heads);
  }
  const auto width = config.raw.Find<uint32_t>("ffn_hidden_size");
  if (!width) return Forward(width);
  if (*width) config.intermediate_size = *width;
  return {};
}

Result<ModelConfig> ReadFalcon(const ModelSource& source, int32_t context) {
  const bool two_norms = source.Find("blk.0.attn_norm_2.weight") != nullptr;
  return ReadDecoderConfig(source, context,
                           {.layer_norm = true,
                            .attention_norm = two_norms ? "attn_norm_2" : "attn_norm",
                            .feed_forward_norm = two_norms ? "attn_norm" : "",
                            .parallel = true,
                            .gated = false,
                            .activation = compute::Activation::kGeluErf});
}

}  // namespace

const Family& Falcon() {
  static const Family family{.architecture = "falcon",
                             .read = ReadFalcon,
                             .checkpoints = {{.model_types = {"falcon"},
                                              .keys = kFalconKeys,
                                              .own_tensors = {{"word_embeddings", "token_embd"},
                                                              {"ln_f", "output_norm"},
                                                              {"lm_head", "output"},
                                                              {"h.*.input_layernorm", "blk.*.attn_norm"},
                                                              {"h.*.ln_mlp", "blk.*.attn_norm"},
                                                              {"h.*.ln_attn", "blk.*.attn_norm_2"},
                                                              {"h.*.self_attention.query_key_value", "blk.*.attn_qkv",
                                                               TensorChange::kUngroupRows},
                                                              {"h.*.self_attention.dense", "blk.*.attn_output"},
                                                              {"h.*.mlp.dense_h_to_4h", "blk.*.ffn_up"},
                                                              {"h.*.mlp.dense_4h_to_h", "blk.*.ffn_down"}},
                                              .tensors = {},
                                              .prepare = PrepareFalcon}}};
  return family;
}

}  // namespace inferflux::model
