// Llama 4 (Meta, 2025), its text, and MobileLLM-R1, which has no experts: every fourth layer does not rotate, sees all
// tokens and has queries that grow with their position; the others see a chunk of the text, and norm q and k after the
// rotation. One expert beside a shared one; its weight multiplies its input.
#include <vector>

#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kLlama4Keys = R"({
  "read": {"vocab_size": 202048, "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
    "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
    "hidden_act": "silu", "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "num_experts_per_tok": 1, "num_local_experts": 16, "moe_layers": null, "interleave_moe_layer_step": 1,
    "use_qk_norm": true, "no_rope_layers": null, "no_rope_layer_interval": 4, "attention_chunk_size": 8192,
    "layer_types": null, "attn_temperature_tuning": true, "floor_scale": 8192, "attn_scale": 0.1,
    "attention_bias": false, "rope_theta": 500000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["output_router_logits", "router_aux_loss_coef", "router_jitter_noise", "for_llm_compressor"],
  "names": {"num_experts": "num_local_experts"},
  "nullable": ["attention_chunk_size", "num_key_value_heads", "head_dim"]
})";

// llama.cpp writes no chunk, growth or norms, and takes these.
constexpr int64_t kUsualChunk = 8192;
constexpr int32_t kUsualLength = 8192, kPlainPeriod = 4, kExpertsWithoutNorms = 128;
constexpr float kUsualGrowth = 0.1f;
constexpr const char *kChunkKey = "attention.sliding_window", *kGrowthKey = "attention.temperature_scale",
                     *kLengthKey = "attention.temperature_length", *kNormsKey = "attention.qk_norm";

bool IsPlain(uint32_t layer) { return (layer + 1) % kPlainPeriod == 0; }

// Whether each layer rotates.
Result<std::vector<int64_t>> RotatingLayers(const formats::HfConfig& config) {
  auto listed = config.raw.Find<std::vector<int64_t>>("no_rope_layers");
  if (!listed) return Forward(listed);
  std::vector<int64_t> rotates = listed->value_or(std::vector<int64_t>());
  const auto interval = config.raw.Get<uint32_t>("no_rope_layer_interval");
  if (!interval) return Forward(interval);
  if (*interval == 0) return Fail(ErrorCode::kDataLoss, "{}: no_rope_layer_interval is 0", config.raw.source());
  const bool by_interval = rotates.empty();
  for (uint32_t i = 0; by_interval && i < config.layers; ++i) rotates.push_back((i + 1) % *interval != 0);
  if (rotates.size() < config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: no_rope_layers has {} entries for {} layers", config.raw.source(),
                rotates.size(), config.layers);
  }
  rotates.resize(config.layers);
  return rotates;
}

// What GGUF has of these settings is the size of a chunk, where 0 means that all layers rotate and see all tokens.
Status PrepareLayers(formats::HfConfig& config) {
  const auto rotates = RotatingLayers(config);
  if (!rotates) return Forward(rotates);
  const auto size = config.raw.GetOr<uint32_t>("attention_chunk_size", 0);
  if (!size) return Forward(size);
  if (!config.layer_types.empty() && config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  bool usual = true, all_rotate = true, chunks = false, all_chunks = true;
  for (uint32_t i = 0; i < config.layers; ++i) {
    const bool rotating = (*rotates)[i] != 0;
    const bool chunked =
        config.layer_types.empty() ? rotating && *size > 0 : config.layer_types[i] == "chunked_attention";
    const bool known = config.layer_types.empty() || chunked || config.layer_types[i] == "full_attention";
    usual = usual && known && rotating != IsPlain(i) && (rotating || !chunked);
    all_rotate = all_rotate && rotating && known;
    chunks = chunks || chunked;
    all_chunks = all_chunks && (chunked || !rotating);
  }
  const bool sound = (usual && (!chunks || (all_chunks && *size > 0))) || (all_rotate && !chunks);
  if (!sound) {
    return Fail(ErrorCode::kUnsupported,
                "{}: by no_rope_layers, layer_types and attention_chunk_size the layers are of kinds that GGUF cannot "
                "express; supported are models of whose layers every {}th does not rotate and sees all tokens, and "
                "models whose layers all rotate and see all tokens",
                config.raw.source(), kPlainPeriod);
  }
  // A chunk as long as the context cuts nothing.
  config.counts[kChunkKey] = !usual ? 0 : chunks ? *size : config.max_position.value_or(0);
  config.layer_types.clear();
  config.sliding_window.reset();
  return {};
}

Status PrepareInterleavedExperts(formats::HfConfig& config) {
  const auto step = config.raw.Get<uint32_t>("interleave_moe_layer_step");
  if (!step) return Forward(step);
  const auto listed = config.raw.Find<std::vector<int64_t>>("moe_layers");
  if (!listed) return Forward(listed);
  if (config.experts.value_or(0) == 0 || (*listed && (*listed)->empty())) {
    config.experts.reset();
    return {};
  }
  std::vector<int64_t> by_step;
  for (uint32_t i = *step; *step > 0 && i <= config.layers; i += *step) by_step.push_back(i - 1);
  if (*step == 0 || (*listed && **listed != by_step)) {
    return Fail(ErrorCode::kUnsupported,
                "{}: moe_layers has other layers than those that interleave_moe_layer_step, {}, gives, and GGUF has "
                "only a step",
                config.raw.source(), *step);
  }
  if (config.experts_per_token != 1u) {
    return Fail(ErrorCode::kUnsupported, "{}: num_experts_per_tok is {}; only 1 is supported", config.raw.source(),
                config.experts_per_token.value_or(0));
  }
  config.counts["interleave_moe_layer_step"] = *step;
  config.expert_stack = formats::HfExpertStack::kColumns;
  return {};
}

// true, or in the first files a number.
Result<bool> GrowsQueries(const formats::HfConfig& config) {
  constexpr const char* kKey = "attn_temperature_tuning";
  const auto* value = config.raw.FindValue(kKey);
  if (value != nullptr && value->is_number()) return value->to_number<double>() != 0.0;
  return config.raw.GetOr<bool>(kKey, true);
}

Status PrepareLlama4(formats::HfConfig& config) {
  if (auto done = PrepareLayers(config); !done) return done;
  const auto width = config.raw.Get<uint32_t>("intermediate_size_mlp");
  if (!width) return Forward(width);
  config.expert_intermediate_size = config.intermediate_size;
  config.intermediate_size = *width;
  if (auto done = PrepareInterleavedExperts(config); !done) return done;
  const auto grows = GrowsQueries(config);
  if (!grows) return Forward(grows);
  const auto growth = config.raw.Get<double>("attn_scale");
  if (!growth) return Forward(growth);
  const auto length = config.raw.Get<uint32_t>("floor_scale");
  if (!length) return Forward(length);
  config.numbers[kGrowthKey] = *grows ? *growth : 0.0;
  config.counts[kLengthKey] = *length;
  const auto norms = config.raw.Get<bool>("use_qk_norm");
  if (!norms) return Forward(norms);
  if (*norms != (config.experts.value_or(0) != kExpertsWithoutNorms)) config.flags[kNormsKey] = *norms;
  return {};
}

// The layers' kinds; and the growth of queries, if there are layers that have it.
Status ReadLayers(const ModelSource& source, ModelConfig* config) {
  const auto chunk = source.metadata().GetOr<int64_t>("llama4." + std::string(kChunkKey), kUsualChunk);
  if (!chunk) return Forward(chunk);
  if (*chunk < 0) return Fail(ErrorCode::kDataLoss, "{}: llama4.{} is {}, below 0", source.path(), kChunkKey, *chunk);
  for (uint32_t i = 0; i < config->layer_kinds.size(); ++i) {
    LayerKind& kind = config->layer_kinds[i];
    kind.kv.window = 0;
    if (*chunk == 0) continue;
    if (IsPlain(i)) {
      kind.rope = kNoRope;
    } else if (*chunk < config->context) {
      kind.kv.window = static_cast<int32_t>(*chunk);
      kind.kv.chunked = true;
    }
    kind.queries_grow = kind.rope == kNoRope;
  }
  QueryGrowth growth{.growth = 0.0f, .length = kUsualLength, .offset = 1};
  const auto read = ReadNumber(source, "llama4." + std::string(kGrowthKey), kUsualGrowth, 0.0f, 1e3f);
  if (!read) return Forward(read);
  growth.growth = *read;
  constexpr int32_t kMaxLength = 1 << 30;
  if (auto sizes = ReadSizes(source, "llama4.", {{kLengthKey, &growth.length, kMaxLength, false}}); !sizes)
    return sizes;
  if (growth.growth > 0.0f && *chunk > 0) config->query_growth = growth;
  return {};
}

Result<ModelConfig> ReadLlama4(const ModelSource& source, int32_t context) {
  ModelConfig family{
      .rope_style = compute::RopeStyle::kInterleaved,
      .qk_norm_after_rope = true,
      .moe = {.shared_gate = false, .weighs_inputs = true, .routing = {.score = compute::ExpertScore::kSigmoid}}};
  auto config = ReadDecoderConfig(source, context, std::move(family));
  if (!config) return config;
  if (auto read = ReadLayers(source, &*config); !read) return Forward(read);
  MoeConfig& moe = config->moe;
  const auto norms =
      source.metadata().GetOr<bool>("llama4." + std::string(kNormsKey), moe.experts != kExpertsWithoutNorms);
  if (!norms) return Forward(norms);
  if (*norms) config->qk_norm = QkNorm::kPlain;
  if (moe.experts == 0) return config;
  moe.shared_feed_forward = moe.feed_forward;
  if (moe.routing.used != 1) {
    return Fail(ErrorCode::kUnsupported, "{}: llama4.expert_used_count is {}; only 1 is supported", source.path(),
                moe.routing.used);
  }
  return config;
}

}  // namespace

const Family& Llama4() {
  static const Family family{
      .architecture = "llama4",
      .read = ReadLlama4,
      .checkpoints = {{.model_types = {"llama4_text"},
                       .keys = kLlama4Keys,
                       .own_tensors = {{"layers.*.feed_forward.gate_proj", "blk.*.ffn_gate"},
                                       {"layers.*.feed_forward.up_proj", "blk.*.ffn_up"},
                                       {"layers.*.feed_forward.down_proj", "blk.*.ffn_down"},
                                       {"layers.*.feed_forward.router", "blk.*.ffn_gate_inp"},
                                       {"layers.*.feed_forward.shared_expert.gate_proj", "blk.*.ffn_gate_shexp"},
                                       {"layers.*.feed_forward.shared_expert.up_proj", "blk.*.ffn_up_shexp"},
                                       {"layers.*.feed_forward.shared_expert.down_proj", "blk.*.ffn_down_shexp"},
                                       {"layers.*.feed_forward.experts.*.gate_proj", "blk.*.ffn_gate_exps"},
                                       {"layers.*.feed_forward.experts.*.up_proj", "blk.*.ffn_up_exps"},
                                       {"layers.*.feed_forward.experts.*.down_proj", "blk.*.ffn_down_exps"},
                                       {"layers.*.feed_forward.experts.gate_up_proj.gate_columns",
                                        "blk.*.ffn_gate_exps", TensorChange::kTransposeFirstHalf},
                                       {"layers.*.feed_forward.experts.gate_up_proj.up_columns", "blk.*.ffn_up_exps",
                                        TensorChange::kTransposeLastHalf},
                                       {"layers.*.feed_forward.experts.down_proj.stack_columns", "blk.*.ffn_down_exps",
                                        TensorChange::kTranspose}},
                       .prepare = PrepareLlama4}},
      .tokenizers = {.pre_tokenizers = {{{"llama4"}, {words::kO200k}}},
                     .turn_markers = {"<|header_start|>", "<|header_end|>", "<|eot|>"},
                     .generation_ends = {"<|eot|>"}}};
  return family;
}

}  // namespace inferflux::model
