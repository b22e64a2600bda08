// Gemma 4 (Google, 2026), its text: Gemma 3's layers with norms on the heads of v and scores that are not scaled;
// layers of full attention have wider heads, of which a part rotates, and may take their values from their keys. The
// last layers of some models read the keys and values of earlier ones; some have per-layer embeddings, or experts
// beside the feed-forward network.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"
#include "model/families/read_shared_kv.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGemma4Keys = R"({
  "read": {"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 30,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false,
    "sliding_window": 512, "layer_types": null, "final_logit_softcapping": null, "vocab_size_per_layer_input": 262144,
    "hidden_size_per_layer_input": 256, "attention_k_eq_v": false, "num_kv_shared_layers": 0,
    "enable_moe_block": false, "use_double_wide_mlp": false, "num_experts": null, "num_experts_per_tok": null,
    "moe_intermediate_size": null, "global_head_dim": 512, "num_global_key_value_heads": null, "per_layer_config": null, "rope_parameters": null,
    "rope_parameters.full_attention": null, "rope_parameters.partial_rotary_factor": null,
    "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0},
  "only": {"use_bidirectional_attention": [null, "vision"]},
  "unused": ["hidden_act"],
  "names": {"top_k_experts": "num_experts_per_tok"}
})";

constexpr const char* kFull = "full_attention";

// As transformers reads layer_types: five layers with a window and one without, and the last one without.
Status PrepareLayerTypes(formats::HfConfig& config) {
  for (uint32_t i = static_cast<uint32_t>(config.layer_types.size()); i < config.layers; ++i) {
    config.layer_types.push_back((i + 1) % 6 != 0 ? "sliding_attention" : kFull);
  }
  if (config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  config.layer_types.back() = kFull;
  return {};
}

// The rotated part of a head comes first; the frequencies of the others are divided until they are 0.
Status PrepareRope(formats::HfConfig& config) {
  const auto given = config.raw.Find<formats::JsonObject>("rope_parameters");
  if (!given) return Forward(given);
  double share = *given ? 1.0 : 0.25, factor = 1.0;  // the type 'default' rotates whole heads; none: transformers' own
  if (config.rope_scaling) {
    if (config.rope_scaling->type != "proportional") {
      return Fail(ErrorCode::kUnsupported,
                  "{}: layers of full attention have the rope_type '{}'; only 'proportional' "
                  "and 'default' are supported",
                  config.raw.source(), config.rope_scaling->type);
    }
    share = config.partial_rotary_factor.value_or(1.0);
    factor = config.rope_scaling->factor.value_or(1.0);
  }
  if (!(share >= 0.0 && share <= 1.0) || !(factor > 0.0)) {
    return Fail(ErrorCode::kDataLoss, "{}: a partial_rotary_factor of {} and a factor of {} cannot be",
                config.raw.source(), share, factor);
  }
  const uint32_t pairs = config.head_dim / 2, rotated = static_cast<uint32_t>(share * config.head_dim / 2);
  constexpr float kNone = 1e30f;  // as llama.cpp's converter writes it
  for (uint32_t i = 0; i < pairs; ++i) config.rope_factors.push_back(i < rotated ? static_cast<float>(factor) : kNone);
  config.rope_scaling.reset();
  config.partial_rotary_factor.reset();
  return {};
}

Status PrepareExperts(formats::HfConfig& config) {
  const auto enabled = config.raw.GetOr<bool>("enable_moe_block", false);
  if (!enabled) return Forward(enabled);
  if (*enabled) return {};
  config.experts.reset();
  return {};
}

// The heads of layers of full attention: by keys of their own, or in per_layer_config, as transformers 5 writes them.
struct FullHeads {
  uint32_t head_dim = 0, kv_heads = 0;
};

Result<FullHeads> ReadHeadKeys(const formats::JsonObject& from, const char* head_dim, const char* kv_heads,
                               FullHeads fallback) {
  const auto width = from.GetOr<uint32_t>(head_dim, fallback.head_dim);
  if (!width) return Forward(width);
  const auto count = from.GetOr<uint32_t>(kv_heads, fallback.kv_heads);
  if (!count) return Forward(count);
  return FullHeads{*width, *count};
}

Result<FullHeads> ReadFullHeads(const formats::HfConfig& config) {
  const FullHeads own{config.head_dim, config.kv_heads};
  const auto keys = config.raw.GetOr<bool>("attention_k_eq_v", false);
  if (!keys) return Forward(keys);
  const auto layers = config.raw.Find<formats::JsonObject>("per_layer_config");
  if (!layers) return Forward(layers);
  if (!*layers) {
    auto heads = ReadHeadKeys(config.raw, "global_head_dim", "num_global_key_value_heads", own);
    if (heads && !*keys) heads->kv_heads = own.kv_heads;
    return heads;
  }
  FullHeads heads;  // of the last layer, which always has full attention
  for (uint32_t i = config.layers; i-- > 0;) {
    const auto of_layer = (*layers)->Find<formats::JsonObject>(std::to_string(i));
    if (!of_layer) return Forward(of_layer);
    FullHeads found = own;
    if (*of_layer) {
      const auto read = ReadHeadKeys(**of_layer, "head_dim", "num_key_value_heads", own);
      if (!read) return read;
      found = *read;
    }
    if (i + 1 == config.layers) heads = found;
    const FullHeads wanted = config.layer_types[i] == kFull ? heads : own;
    if (found.head_dim == wanted.head_dim && found.kv_heads == wanted.kv_heads) continue;
    return Fail(
        ErrorCode::kUnsupported,
        "{}: per_layer_config has heads of layer {} that others of its kind do not have; only one width and one "
        "number for each kind is supported",
        config.raw.source(), i);
  }
  return heads;
}

Status PrepareGemma4(formats::HfConfig& config) {
  const auto number = [&](const char* key) { return config.raw.GetOr<uint32_t>(key, 0); };
  const auto shared = number("num_kv_shared_layers"), inputs = number("hidden_size_per_layer_input"),
             rows = number("vocab_size_per_layer_input");
  for (const auto* read : {&shared, &inputs, &rows}) {
    if (!*read) return Forward(*read);
  }
  const auto doubled = config.raw.GetOr<bool>("use_double_wide_mlp", false);
  if (!doubled) return Forward(doubled);
  if (*inputs > 0 && *rows != config.vocab_size) {
    return Fail(ErrorCode::kUnsupported,
                "{}: vocab_size_per_layer_input is {} and vocab_size {}; only equal ones are "
                "supported",
                config.raw.source(), *rows, config.vocab_size);
  }
  if (*shared >= config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: num_kv_shared_layers is {} of {} layers", config.raw.source(), *shared,
                config.layers);
  }
  if (auto done = PrepareLayerTypes(config); !done) return done;
  const auto heads = ReadFullHeads(config);
  if (!heads) return Forward(heads);
  for (uint32_t i = 0; i < config.layers; ++i) {
    const bool full = config.layer_types[i] == kFull, reads = i + *shared >= config.layers;
    config.layer_kv_heads.push_back(full ? heads->kv_heads : config.kv_heads);
    const uint32_t width = config.intermediate_size.value_or(0);
    config.layer_feed_forward.push_back(reads && *doubled ? 2 * width : width);
  }
  for (const char* key : {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"})
    config.counts[key] = config.head_dim;
  config.counts["attention.shared_kv_layers"] = *shared;
  config.counts["embedding_length_per_layer_input"] = *inputs;
  config.head_dim = heads->head_dim;
  if (auto done = PrepareRope(config); !done) return done;
  return PrepareExperts(config);
}

// Layers with a window have heads of their own width, and rotate whole ones without factors.
Status ReadWindowedHeads(const ModelSource& source, ModelConfig* config) {
  constexpr int32_t kMaxHeadDim = 4096;
  int32_t head_dim = config->head_dim, values = 0, rotated = 0;
  auto read = ReadSizes(source, "gemma4.",
                        {{"attention.key_length_swa", &head_dim, kMaxHeadDim, false},
                         {"attention.value_length_swa", &values, kMaxHeadDim, false},
                         {"rope.dimension_count_swa", &rotated, kMaxHeadDim, false}});
  if (!read) return read;
  if ((values != 0 && values != head_dim) || (rotated != 0 && rotated != head_dim) || head_dim % 2 != 0) {
    return Fail(
        ErrorCode::kUnsupported,
        "{}: layers with a window have keys of {} and values of {} dimensions, of which {} rotate; only equal and "
        "even ones are supported",
        source.path(), head_dim, values, rotated);
  }
  const int32_t windowed_rope = static_cast<int32_t>(config->ropes.size()) - 1;
  const auto base = ReadNumber(source, "gemma4.rope.freq_base_swa", 10000.0f, 1.001f, 1e9f);
  if (!base) return Forward(base);
  std::vector<float>& frequencies = config->ropes[static_cast<size_t>(windowed_rope)].inverse_frequencies;
  frequencies.clear();
  for (int32_t i = 0; i < head_dim; i += 2) {
    frequencies.push_back(static_cast<float>(1.0 / std::pow(static_cast<double>(*base), double(i) / head_dim)));
  }
  for (LayerKind& kind : config->layer_kinds) {
    if (kind.rope == windowed_rope) kind.kv.head_dim = head_dim;
  }
  return {};
}

Result<ModelConfig> ReadGemma4(const ModelSource& source, int32_t context) {
  ModelConfig family{.output_norms = true,
                     .qk_norm = QkNorm::kHead,
                     .value_norm = true,
                     .activation = compute::Activation::kGeluTanh,
                     .moe = {.beside_dense = true, .routing = {.normalise = true}}};
  auto config = ReadDecoderConfig(source, context, std::move(family), 6);
  if (!config) return config;
  config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  config->attention_scale = 1.0f;
  if (auto rope = ReadWindowRope(source, 10000.0f, 6, &*config); !rope) return Forward(rope);
  if (auto read = ReadWindowedHeads(source, &*config); !read) return Forward(read);
  if (auto read = ReadSharedKvLayers(source, &*config); !read) return Forward(read);
  constexpr int32_t kMaxWidth = 1 << 16;
  const auto width = source.metadata().GetOr<int64_t>("gemma4.embedding_length_per_layer_input", 0);
  if (!width) return Forward(width);
  if (*width < 0 || *width > kMaxWidth) {
    return Fail(ErrorCode::kDataLoss,
                "{}: gemma4.embedding_length_per_layer_input is {}, which is not between 0 and {}", source.path(),
                *width, kMaxWidth);
  }
  config->layer_input = static_cast<int32_t>(*width);
  if (config->moe.experts > 0) config->feed_forward_norm = "";  // the network's and the experts' norms are their own
  for (int32_t i = 0; i < config->layers; ++i) {
    LayerKind& kind = config->layer_kinds[static_cast<size_t>(i)];
    kind.values_are_keys = source.Find("blk." + std::to_string(i) + ".attn_v.weight") == nullptr;
  }
  return config;
}

// Its </s> does not end a generation.
void KeepPlainEnd(const formats::GgufMetadata&, text::VocabSpec& vocab) {
  if (EndsGeneration(vocab, "<|tool_response>")) DropGenerationEnd(vocab, "</s>");
}

}  // namespace

const Family& Gemma4() {
  static const Family family{
      .architecture = "gemma4",
      .read = ReadGemma4,
      .checkpoints =
          {{.model_types = {"gemma4_text"},
            .keys = kGemma4Keys,
            .activation = "gelu_pytorch_tanh",
            .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                            {"layers.*.pre_feedforward_layernorm", "blk.*.ffn_norm"},
                            {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm"},
                            {"layers.*.post_feedforward_layernorm_1", "blk.*.post_ffw_norm_1"},
                            {"layers.*.pre_feedforward_layernorm_2", "blk.*.pre_ffw_norm_2"},
                            {"layers.*.post_feedforward_layernorm_2", "blk.*.post_ffw_norm_2"},
                            {"layers.*.layer_scalar", "blk.*.layer_output_scale", TensorChange::kNone, /*whole=*/true},
                            {"layers.*.per_layer_input_gate", "blk.*.inp_gate"},
                            {"layers.*.per_layer_projection", "blk.*.proj"},
                            {"layers.*.post_per_layer_input_norm", "blk.*.post_norm"},
                            {"layers.*.router.proj", "blk.*.ffn_gate_inp"},
                            {"layers.*.router.scale", "blk.*.ffn_gate_inp.scale", TensorChange::kNone, /*whole=*/true,
                             /*complete=*/true},
                            {"layers.*.router.per_expert_scale", "blk.*.ffn_down_exps.scale", TensorChange::kNone,
                             /*whole=*/true,
                             /*complete=*/true},
                            {"layers.*.experts.gate_up_proj.gate", "blk.*.ffn_gate_exps"},
                            {"layers.*.experts.gate_up_proj.up", "blk.*.ffn_up_exps"},
                            {"layers.*.experts.down_proj.stack", "blk.*.ffn_down_exps"},
                            {"embed_tokens_per_layer", "per_layer_token_embd"},
                            {"per_layer_model_projection", "per_layer_model_proj"},
                            {"per_layer_projection_norm", "per_layer_proj_norm"}},
            .tensors = {kQkNormTensors, kDecoderTensors},
            .prepare = PrepareGemma4}},
      .tokenizers = {.turn_markers = {"<|turn>", "<turn|>"},
                     .generation_ends = {"<turn|>", "<|tool_response>"},
                     .sentencepiece_names = {"gemma4"},
                     .adjust = KeepPlainEnd}};
  return family;
}

}  // namespace inferflux::model
