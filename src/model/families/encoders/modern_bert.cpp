// ModernBERT (arXiv:2412.13663): rotary positions, gated feed-forward networks and norms before the sub-layers, of
// which the first layer's attention has none. The first of every three layers has full attention, the others a window
// on both sides and their own RoPE base.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/encoders/encoder_checkpoints.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kModernBertKeys = R"({
  "read": {"vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22,
    "num_attention_heads": 12, "hidden_activation": "gelu", "max_position_embeddings": 8192, "norm_eps": 1e-05,
    "norm_bias": false, "attention_bias": false, "layer_types": null, "local_attention": 128, "mlp_bias": false,
    "classifier_pooling": "cls", "classifier_bias": false, "classifier_activation": "gelu",
    "tie_word_embeddings": true, "global_attn_every_n_layers": null, "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0, "rope_parameters": null,
    "rope_parameters.full_attention": null},
  "only": {"position_embedding_type": ["absolute", "rope", "sans_pos"], "partial_rotary_factor": [null, 1.0],
    "rope_scaling": [null]},
  "unused": ["decoder_bias", "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index",
    "reference_compile", "repad_logits_with_grad", "layer_norm_eps"]
})";

constexpr int32_t kPeriod = 3;  // if the file gives none

// The old files give a period of layers, the newer ones a list.
Status PrepareModernBert(formats::HfConfig& config) {
  const auto number = [&](std::string_view key) { return config.raw.Get<double>(key); };
  const auto epsilon = number("norm_eps"), global = number("global_rope_theta"), local = number("local_rope_theta");
  for (const auto* read : {&epsilon, &global, &local}) {
    if (!*read) return Forward(*read);
  }
  config.layer_norm_eps = *epsilon;
  SetDefault(config.rope_theta, *global);
  SetDefault(config.local_rope_theta, *local);
  const auto window = config.raw.Get<uint32_t>("local_attention");
  if (!window) return Forward(window);
  config.sliding_window = *window;
  return {};
}

// In a period of layers the first one has full attention: GGUF files of decoders mean the last one.
Status ReadWindows(const ModelSource& source, ModelConfig* config) {
  const std::string prefix = config->architecture + ".attention.sliding_window", pattern = prefix + "_pattern";
  int32_t window = 0, period = kPeriod;
  if (auto read = ReadSizes(source, "", {{prefix.c_str(), &window, 1 << 30, false}}); !read) return read;
  const auto* entry = source.metadata().Find(pattern);
  const bool listed = entry != nullptr && entry->type == formats::GgufValueType::kArray;
  if (!listed) {
    if (auto read = ReadSizes(source, "", {{pattern.c_str(), &period, 4096, false}}); !read) return read;
  }
  for (size_t i = 0; i < config->layer_kinds.size() && !listed; ++i) {
    const bool windowed = window > 0 && period > 0 && i % static_cast<size_t>(period) != 0;
    config->layer_kinds[i].kv.window = windowed ? window / 2 + 1 : 0;
  }
  return ReadWindowRope(source, 10000.0f, 0, config);
}

Result<ModelConfig> ReadModernBert(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context,
                                  {.causal = false,
                                   .head_activation = HeadActivation::kGelu,
                                   .layer_norm = true,
                                   .norm_bias = source.Find("output_norm.bias") != nullptr,
                                   .first_norm = source.Find("blk.0.attn_norm.weight") != nullptr,
                                   .embedding_norm = true,
                                   .activation = compute::Activation::kGeluErf});
  if (!config) return config;
  if (auto read = ReadWindows(source, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& ModernBert() {
  static const Family family{
      .architecture = "modern-bert",
      .read = ReadModernBert,
      .checkpoints = {{.model_types = {"modernbert"},
                       .keys = kModernBertKeys,
                       .activation = "gelu",
                       .causal = false,
                       .own_tensors = {{"embeddings.tok_embeddings", "token_embd"},
                                       {"embeddings.norm", "token_embd_norm"},
                                       {"layers.*.attn_norm", "blk.*.attn_norm"},
                                       {"layers.*.attn.Wqkv", "blk.*.attn_qkv"},
                                       {"layers.*.attn.Wo", "blk.*.attn_output"},
                                       {"layers.*.mlp_norm", "blk.*.ffn_norm"},
                                       {"layers.*.mlp.Wi", "blk.*.ffn_up"},
                                       {"layers.*.mlp.Wo", "blk.*.ffn_down"},
                                       {"final_norm", "output_norm"}},
                       .tensors = {},
                       .prefixes = kEncoderPrefixes,
                       .ignored = {"head.*", "decoder.*"},
                       .head = {{"head.dense", "cls"}, {"head.norm", "cls.norm"}, {"classifier", "cls.output"}},
                       .head_activation = "gelu",
                       .counts = {{"global_attn_every_n_layers", "attention.sliding_window_pattern"}},
                       .prepare = PrepareModernBert}},
      .tokenizers = {.pre_tokenizers = {{{"modern-bert"}, {words::kGpt2, /*nfc=*/true}}}}};
  return family;
}

}  // namespace inferflux::model
