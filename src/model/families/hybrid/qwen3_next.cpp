// Qwen3-Next (Qwen, 2025): gated DeltaNet in three of four layers, attention whose result is gated in the fourth, with
// norms on the heads of q and k and a quarter of each head rotated; many small experts beside a shared one. GGUF stores
// the norms' weights with 1 added, and calls the norm before the experts post_attention_norm.
#include <string>
#include <vector>

#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr int32_t kMaxHeads = 1 << 16;
constexpr int32_t kMaxHeadDim = 4096;
constexpr int32_t kMaxTaps = 1024;

Status ReadLayerTypes(formats::HfConfig& config) {
  const auto interval = config.raw.GetOr<uint32_t>("full_attention_interval", 4);
  if (!interval) return Forward(interval);
  if (*interval == 0) return Fail(ErrorCode::kDataLoss, "{}: full_attention_interval is 0", config.raw.source());
  for (uint32_t i = static_cast<uint32_t>(config.layer_types.size()); i < config.layers; ++i) {
    config.layer_types.push_back((i + 1) % *interval == 0 ? "full_attention" : "linear_attention");
  }
  if (config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  for (const std::string& type : config.layer_types) {
    if (type == "linear_attention" || type == "full_attention") continue;
    return Fail(ErrorCode::kUnsupported, "{}: layer_types has '{}'; supported are linear_attention and full_attention",
                config.raw.source(), type);
  }
  return {};
}

Status PrepareQwen3Next(formats::HfConfig& config) {
  SetDefault(config.partial_rotary_factor, 0.25);
  SetDefaultHeadDim(config, 256);
  SetDefault(config.norm_topk_prob, true);
  const auto dense = config.raw.Find<std::vector<uint32_t>>("mlp_only_layers");
  if (!dense) return Forward(dense);
  const auto step = config.raw.GetOr<uint32_t>("decoder_sparse_step", 1);
  if (!step) return Forward(step);
  if ((*dense && !(*dense)->empty()) || *step != 1) {
    return Fail(ErrorCode::kUnsupported,
                "{}: layers without experts (mlp_only_layers, decoder_sparse_step) are not "
                "supported",
                config.raw.source());
  }
  const auto heads = config.raw.GetOr<uint32_t>("linear_num_value_heads", 32);
  if (!heads) return Forward(heads);
  const auto width = config.raw.GetOr<uint32_t>("linear_value_head_dim", 128);
  if (!width) return Forward(width);
  if (*heads > kMaxHeads || *width > kMaxHeadDim) {
    return Fail(ErrorCode::kDataLoss, "{}: {} value heads of {}; at most {} of {} are served", config.raw.source(),
                *heads, *width, kMaxHeads, kMaxHeadDim);
  }
  config.ssm_inner_size = *heads * *width;
  return ReadLayerTypes(config);
}

Result<compute::DeltaNetParams> ReadDeltaNet(const ModelSource& source, const std::string& prefix) {
  compute::DeltaNetParams delta;
  int32_t inner = 0;
  auto sizes = ReadSizes(source, prefix,
                         {{"ssm.group_count", &delta.key_heads, kMaxHeads, true},
                          {"ssm.time_step_rank", &delta.value_heads, kMaxHeads, true},
                          {"ssm.state_size", &delta.key_dim, kMaxHeadDim, true},
                          {"ssm.inner_size", &inner, kMaxHeads * 256, true}});
  if (!sizes) return Forward(sizes);
  if (delta.value_heads % delta.key_heads != 0 || inner % delta.value_heads != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} values in {} heads cannot share {} key heads evenly", source.path(),
                inner, delta.value_heads, delta.key_heads);
  }
  delta.value_dim = inner / delta.value_heads;
  if (delta.value_dim > kMaxHeadDim) {
    return Fail(ErrorCode::kDataLoss, "{}: value heads of {} dimensions; at most {} are served", source.path(),
                delta.value_dim, kMaxHeadDim);
  }
  return delta;
}

// GGUF lists them, or gives the period of the layers with attention.
Status MarkRecurrentLayers(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  const std::string key = prefix + "attention.recurrent_layers";
  int32_t interval = 4;
  auto size = ReadSizes(source, prefix, {{"full_attention_interval", &interval, 4096, false}});
  if (!size) return size;
  auto listed = source.metadata().GetOr<std::vector<bool>>(key, {});
  if (!listed) return Forward(listed);
  if (!listed->empty() && listed->size() < config->layer_kinds.size()) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, listed->size(),
                config->layer_kinds.size());
  }
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    const bool recurrent = listed->empty() ? (i + 1) % static_cast<size_t>(interval) != 0 : (*listed)[i];
    if (recurrent) config->layer_kinds[i].kv = {.heads = 0, .head_dim = config->head_dim};
  }
  return {};
}

Result<ModelConfig> ReadQwen3Next(const ModelSource& source, int32_t context) {
  const std::string prefix = "qwen3next.";
  ModelConfig family{.feed_forward_norm = "post_attention_norm",
                     .qk_norm = QkNorm::kHead,
                     .attention_gate = true,
                     .moe = {.routing = {.normalise = true}}};
  auto taps = ReadSizes(source, prefix, {{"ssm.conv_kernel", &family.conv_taps, kMaxTaps, true}});
  if (!taps) return Forward(taps);
  if (family.conv_taps < 2) {
    return Fail(ErrorCode::kUnsupported, "{}: {}ssm.conv_kernel is {}; at least 2 is supported", source.path(), prefix,
                family.conv_taps);
  }
  auto delta = ReadDeltaNet(source, prefix);
  if (!delta) return Forward(delta);
  family.delta_net = *delta;
  auto config = ReadDecoderConfig(source, context, std::move(family));
  if (!config) return config;
  if (auto marked = MarkRecurrentLayers(source, prefix, &*config); !marked) return Forward(marked);
  return config;
}

}  // namespace

const Family& Qwen3Next() {
  static const Family family{
      .architecture = "qwen3next",
      .read = ReadQwen3Next,
      .checkpoints = {
          {.model_types = {"qwen3_next"},
           .own_tensors = {{"norm", "output_norm", TensorChange::kAddOne},
                           {"layers.*.input_layernorm", "blk.*.attn_norm", TensorChange::kAddOne},
                           {"layers.*.post_attention_layernorm", "blk.*.post_attention_norm", TensorChange::kAddOne},
                           {"layers.*.self_attn.q_norm", "blk.*.attn_q_norm", TensorChange::kAddOne},
                           {"layers.*.self_attn.k_norm", "blk.*.attn_k_norm", TensorChange::kAddOne},
                           {"layers.*.linear_attn.in_proj_qkvz", "blk.*.ssm_in"},
                           {"layers.*.linear_attn.in_proj_ba", "blk.*.ssm_ba"},
                           {"layers.*.linear_attn.conv1d", "blk.*.ssm_conv1d"},
                           {"layers.*.linear_attn.norm", "blk.*.ssm_norm"},
                           {"layers.*.linear_attn.out_proj", "blk.*.ssm_out"},
                           {"layers.*.linear_attn.A_log", "blk.*.ssm_a", TensorChange::kNegatedExp, /*whole=*/true,
                            /*complete=*/true},
                           {"layers.*.linear_attn.dt_bias", "blk.*.ssm_dt.bias", TensorChange::kNone, /*whole=*/true,
                            /*complete=*/true},
                           {"layers.*.mlp.shared_expert.gate_proj", "blk.*.ffn_gate_shexp"},
                           {"layers.*.mlp.shared_expert.up_proj", "blk.*.ffn_up_shexp"},
                           {"layers.*.mlp.shared_expert.down_proj", "blk.*.ffn_down_shexp"},
                           {"layers.*.mlp.shared_expert_gate", "blk.*.ffn_gate_inp_shexp"}},
           .tensors = {kExpertTensors, kDecoderTensors},
           .ignored = {"*.rotary_emb.inv_freq", "mtp.*"},
           .counts = {{"linear_conv_kernel_dim", "ssm.conv_kernel"},
                      {"linear_key_head_dim", "ssm.state_size"},
                      {"linear_num_key_heads", "ssm.group_count"},
                      {"linear_num_value_heads", "ssm.time_step_rank"}},
           .prepare = PrepareQwen3Next}}};
  return family;
}

}  // namespace inferflux::model
