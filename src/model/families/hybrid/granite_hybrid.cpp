// Granite 4 (IBM, 2025): Mamba-2 in most layers, attention in a few, often without positions; Granite's multipliers; a
// feed-forward network, or experts beside a shared one. The logits are divided by the file's logit scale.
#include <string>
#include <vector>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/hybrid/state_space.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGraniteHybridKeys = R"({
  "read": {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false, "embedding_multiplier": 1.0,
    "logits_scaling": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0, "num_local_experts": 8,
    "num_experts_per_tok": 2, "shared_intermediate_size": 1024, "position_embedding_type": null,
    "layer_types": null, "head_dim": null, "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256,
    "mamba_d_head": "auto", "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": true, "mamba_proj_bias": false,
    "time_step_limit": [0.0, {"__float__": "Infinity"}], "rope_theta": 10000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0], "normalization_function": ["rmsnorm"]},
  "unused": ["init_method", "mamba_chunk_size"],
  "names": {"layers_block_type": "layer_types"}
})";

Status ReadGraniteLayers(formats::HfConfig& config) {
  if (config.layer_types.empty()) config.layer_types.assign(config.layers, "mamba");
  if (config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  for (const std::string& type : config.layer_types) {
    const bool attention = type == "attention" || type == "full_attention";
    if (!attention && type != "mamba" && type != "linear_attention") {
      return Fail(ErrorCode::kUnsupported, "{}: layer_types has '{}'; supported are mamba and attention",
                  config.raw.source(), type);
    }
    config.layer_kv_heads.push_back(attention ? config.kv_heads : 0);
  }
  config.layer_types.clear();
  return {};
}

Status PrepareGraniteHybrid(formats::HfConfig& config) {
  const auto positions = config.raw.GetOr<std::string>("position_embedding_type", "nope");
  if (!positions) return Forward(positions);
  config.flags["rope.scaling.finetuned"] = *positions == "rope";  // llama.cpp's switch of RoPE
  if (auto read = ReadGraniteLayers(config); !read) return read;
  const auto inner = ExpandedSize(config, "mamba_expand");
  if (!inner) return Forward(inner);
  StateSpaceSizes sizes = kMambaSizes;
  sizes.inner = *inner;
  return PrepareStateSpace(config, sizes);
}

Result<uint32_t> SharedSize(const formats::HfConfig& config) {
  return config.raw.Get<uint32_t>("shared_intermediate_size");
}

Status PrepareDense(formats::HfConfig& config) {
  const auto width = SharedSize(config);
  if (!width) return Forward(width);
  config.intermediate_size = *width;
  config.experts.reset();
  return PrepareGraniteHybrid(config);
}

Status PrepareExperts(formats::HfConfig& config) {
  const auto width = SharedSize(config);
  if (!width) return Forward(width);
  config.shared_expert_intermediate_size = *width;
  return PrepareGraniteHybrid(config);
}

Result<bool> HasNoExperts(const formats::JsonObject& root) {
  return root.GetOr<uint32_t>("num_local_experts", 8).map([](uint32_t experts) { return experts == 0; });
}

Result<ModelConfig> ReadGraniteHybrid(const ModelSource& source, int32_t context) {
  auto config = ReadStateSpaceModel(
      source, context,
      {.rope_style = compute::RopeStyle::kInterleaved, .moe = {.shared_gate = false, .routing = {.normalise = true}}});
  if (!config) return config;
  const std::string prefix = config->architecture + ".";
  const auto divisor = ReadNumber(source, prefix + "logit_scale", 1.0f, 1e-6f, 1e6f);
  if (!divisor) return Forward(divisor);
  config->logit_scale = 1.0f / *divisor;
  const auto rotated = source.metadata().GetOr<bool>(prefix + "rope.scaling.finetuned", true);
  if (!rotated) return Forward(rotated);
  for (LayerKind& kind : config->layer_kinds) {
    if (!*rotated) kind.rope = kNoRope;
  }
  return config;
}

constexpr TensorName kSharedNames[] = {
    {"layers.*.shared_mlp.input_linear.gate", "blk.*.ffn_gate_shexp"},
    {"layers.*.shared_mlp.input_linear.up", "blk.*.ffn_up_shexp"},
    {"layers.*.shared_mlp.output_linear", "blk.*.ffn_down_shexp"},
    {"layers.*.block_sparse_moe.router.layer", "blk.*.ffn_gate_inp"},
    {"layers.*.block_sparse_moe.input_linear.gate", "blk.*.ffn_gate_exps"},
    {"layers.*.block_sparse_moe.input_linear.up", "blk.*.ffn_up_exps"},
    {"layers.*.block_sparse_moe.output_linear.stack", "blk.*.ffn_down_exps"},
};

constexpr TensorName kDenseNames[] = {
    {"layers.*.shared_mlp.input_linear.gate", "blk.*.ffn_gate"},
    {"layers.*.shared_mlp.input_linear.up", "blk.*.ffn_up"},
    {"layers.*.shared_mlp.output_linear", "blk.*.ffn_down"},
};

}  // namespace

const Family& GraniteHybrid() {
  static const std::vector<ConfigNumber> multipliers{{"attention_multiplier", "attention.scale"},
                                                     {"embedding_multiplier", "embedding_scale"},
                                                     {"residual_multiplier", "residual_scale"},
                                                     {"logits_scaling", "logit_scale"}};
  static const Family family{
      .architecture = "granitehybrid",
      .read = ReadGraniteHybrid,
      .checkpoints = {{.model_types = {"granitemoehybrid"},
                       .keys = kGraniteHybridKeys,
                       .applies = HasNoExperts,
                       .tensors = {kDenseNames, kMambaTensors, kInterleavedTensors, kDecoderTensors},
                       .numbers = multipliers,
                       .prepare = PrepareDense},
                      {.model_types = {"granitemoehybrid"},
                       .keys = kGraniteHybridKeys,
                       .tensors = {kSharedNames, kMambaTensors, kInterleavedTensors, kDecoderTensors},
                       .numbers = multipliers,
                       .prepare = PrepareExperts}}};
  return family;
}

}  // namespace inferflux::model
