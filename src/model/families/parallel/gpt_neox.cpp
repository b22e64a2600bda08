// GPT-NeoX and Pythia (arXiv:2204.06745, 2304.01373): LayerNorm, biases, a part of each head rotates; attention and
// feed-forward network are side by side, each under its own norm, or one after the other. GGUF stores all of q first.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kNeoXKeys = R"({
  "read": {"vocab_size": 50432, "hidden_size": 6144, "num_hidden_layers": 44, "num_attention_heads": 64,
    "intermediate_size": 24576, "hidden_act": "gelu", "max_position_embeddings": 2048, "layer_norm_eps": 1e-05,
    "tie_word_embeddings": false, "use_parallel_residual": true, "attention_bias": true, "is_decoder": false,
    "rotary_pct": 0.25, "rotary_emb_base": 10000.0, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.partial_rotary_factor": null}
})";

Status PrepareNeoX(formats::HfConfig& config) {
  const auto share = config.raw.Get<double>("rotary_pct"), base = config.raw.Get<double>("rotary_emb_base");
  if (!share) return Forward(share);
  if (!base) return Forward(base);
  SetDefault(config.partial_rotary_factor, *share);
  SetDefault(config.rope_theta, *base);
  const auto parallel = config.raw.Get<bool>("use_parallel_residual");
  if (!parallel) return Forward(parallel);
  config.parallel_residual = *parallel;
  return {};
}

Result<ModelConfig> ReadNeoX(const ModelSource& source, int32_t context) {
  const auto parallel = source.metadata().GetOr<bool>("gptneox.use_parallel_residual", true);
  if (!parallel) return Forward(parallel);
  return ReadDecoderConfig(
      source, context,
      {.layer_norm = true, .parallel = *parallel, .gated = false, .activation = compute::Activation::kGeluErf});
}

}  // namespace

const Family& GptNeoX() {
  static const Family family{
      .architecture = "gptneox",
      .read = ReadNeoX,
      .checkpoints = {
          {.model_types = {"gpt_neox"},
           .keys = kNeoXKeys,
           .activation = "gelu",
           .own_tensors = {{"embed_in", "token_embd"},
                           {"embed_out", "output"},
                           {"final_layer_norm", "output_norm"},
                           {"layers.*.attention.query_key_value", "blk.*.attn_qkv", TensorChange::kUngroupRows},
                           {"layers.*.attention.dense", "blk.*.attn_output"},
                           {"layers.*.mlp.dense_h_to_4h", "blk.*.ffn_up"},
                           {"layers.*.mlp.dense_4h_to_h", "blk.*.ffn_down"}},
           .prefixes = {"gpt_neox."},
           .ignored = {"*.rotary_emb.inv_freq", "*.attention.bias", "*.attention.masked_bias"},
           .prepare = PrepareNeoX}}};
  return family;
}

}  // namespace inferflux::model
