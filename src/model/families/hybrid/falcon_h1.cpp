// Falcon-H1 (TII; arXiv:2507.22448): attention and Mamba-2 beside each other in every layer, and a feed-forward
// network. The model's multipliers are part of the weights in GGUF files.
#include <string>
#include <vector>

#include "model/families/family.h"
#include "model/families/hybrid/state_space.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kFalconH1Keys = R"({
  "read": {"vocab_size": 128000, "tie_word_embeddings": false, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
    "rms_norm_eps": 1e-05, "max_position_embeddings": 8192, "head_dim": null, "mamba_d_ssm": 1024,
    "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4,
    "mamba_expand": 2, "mamba_conv_bias": true, "mamba_norm_before_gate": true, "mamba_rms_norm": false,
    "time_step_limit": [0.0, {"__float__": "Infinity"}], "lm_head_multiplier": 1.0, "embedding_multiplier": 1.0,
    "mlp_multipliers": null, "key_multiplier": 1.0, "attention_out_multiplier": 1.0,
    "attention_in_multiplier": 1.0, "ssm_multipliers": null, "ssm_in_multiplier": 1.0, "ssm_out_multiplier": 1.0,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"attention_bias": [false], "mlp_bias": [false], "projectors_bias": [false, null],
    "mamba_proj_bias": [false, null], "mamba_use_mlp": [true], "attn_layer_indices": [null],
    "partial_rotary_factor": [null, 1.0]},
  "unused": ["layer_types", "layers_block_type", "mamba_chunk_size", "mlp_expansion_factor", "num_logits_to_keep",
    "time_step_floor", "time_step_max", "time_step_min"],
  "nullable": ["num_key_value_heads", "mamba_d_ssm"]
})";

Result<std::vector<double>> Multipliers(const formats::HfConfig& config, std::string_view key, size_t count) {
  auto listed = config.raw.Find<std::vector<double>>(key);
  if (!listed) return Forward(listed);
  if (!*listed) return std::vector<double>(count, 1.0);
  if ((*listed)->size() == count) return **listed;
  return Fail(ErrorCode::kDataLoss, "{}: {} has {} numbers; {} are needed", config.raw.source(), key, (*listed)->size(),
              count);
}

// Rows of the input projection: the gate, x, b, c and the steps.
Status AddInputFactors(formats::HfConfig& config, double all) {
  const auto parts = Multipliers(config, "ssm_multipliers", 5);
  if (!parts) return Forward(parts);
  const uint32_t inner = *config.ssm_inner_size;
  const uint32_t states = config.counts["ssm.group_count"] * config.counts["ssm.state_size"];
  const uint32_t rows[] = {inner, inner, states, states, 0};
  auto& factors = config.tensor_factors["blk.*.ssm_in"];
  for (size_t i = 0; i < 5; ++i) factors.push_back({rows[i], all * (*parts)[i]});
  return {};
}

Status AddFactors(formats::HfConfig& config) {
  struct Multiplier {
    const char* key;
    double value = 1.0;
  };
  Multiplier of_key{"key_multiplier"}, before{"attention_in_multiplier"}, after{"attention_out_multiplier"},
      in{"ssm_in_multiplier"}, out{"ssm_out_multiplier"}, embedding{"embedding_multiplier"},
      logits{"lm_head_multiplier"};
  for (Multiplier* multiplier : {&of_key, &before, &after, &in, &out, &embedding, &logits}) {
    const auto value = config.raw.GetOr<double>(multiplier->key, 1.0);
    if (!value) return Forward(value);
    multiplier->value = *value;
  }
  const auto mlp = Multipliers(config, "mlp_multipliers", 2);
  if (!mlp) return Forward(mlp);
  const auto add = [&](const char* name, double factor) { config.tensor_factors[name] = {{0, factor}}; };
  add("blk.*.attn_q", before.value);
  add("blk.*.attn_k", before.value * of_key.value);
  add("blk.*.attn_v", before.value);
  add("blk.*.attn_output", after.value);
  add("blk.*.ssm_out", out.value);
  add("blk.*.ffn_gate", (*mlp)[0]);
  add("blk.*.ffn_down", (*mlp)[1]);
  add("token_embd", embedding.value);
  add("output", logits.value);
  return AddInputFactors(config, in.value);
}

Status PrepareFalconH1(formats::HfConfig& config) {
  const auto norm = config.raw.GetOr<bool>("mamba_rms_norm", false);
  const auto norm_first = config.raw.GetOr<bool>("mamba_norm_before_gate", true);
  if (!norm) return Forward(norm);
  if (!norm_first) return Forward(norm_first);
  if (*norm && *norm_first) {
    return Fail(ErrorCode::kUnsupported,
                "{}: mamba_rms_norm with mamba_norm_before_gate is not supported, only a norm after the gate",
                config.raw.source());
  }
  StateSpaceSizes sizes = kMambaSizes;
  const auto inner = config.raw.FindValue("mamba_d_ssm") == nullptr ? ExpandedSize(config, "mamba_expand")
                                                                    : config.raw.Get<uint32_t>("mamba_d_ssm");
  if (!inner) return Forward(inner);
  sizes.inner = *inner;
  if (auto prepared = PrepareStateSpace(config, sizes); !prepared) return prepared;
  return AddFactors(config);
}

Result<ModelConfig> ReadFalconH1(const ModelSource& source, int32_t context) {
  auto config = ReadStateSpaceModel(source, context, {});
  if (!config) return config;
  for (LayerKind& kind : config->layer_kinds) kind.recurrent = true;
  return config;
}

}  // namespace

const Family& FalconH1() {
  static const Family family{
      .architecture = "falcon-h1",
      .read = ReadFalconH1,
      .checkpoints = {{.model_types = {"falcon_h1"},
                       .keys = kFalconH1Keys,
                       .own_tensors = {{"final_layernorm", "output_norm"},
                                       {"layers.*.pre_ff_layernorm.weight", "blk.*.ffn_norm", TensorChange::kNone,
                                        /*whole=*/true, /*complete=*/true},
                                       {"layers.*.feed_forward.gate_proj", "blk.*.ffn_gate"},
                                       {"layers.*.feed_forward.up_proj", "blk.*.ffn_up"},
                                       {"layers.*.feed_forward.down_proj", "blk.*.ffn_down"}},
                       .tensors = {kMambaTensors, kDecoderTensors},
                       .ignored = {"*.rotary_emb.inv_freq", "*.mup_vector"},
                       .prepare = PrepareFalconH1}}};
  return family;
}

}  // namespace inferflux::model
