// LFM2 (Liquid AI, 2025; arXiv:2511.23404): short gated convolutions in most layers, attention with norms on the heads
// of q and k in the others. GGUF calls the last norm token_embd_norm.
#include "model/families/hybrid/lfm2.h"

#include <algorithm>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kLfm2Keys = R"({
  "read": {"vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 128000, "norm_eps": 1e-05,
    "tie_word_embeddings": true, "conv_bias": false, "conv_L_cache": 3, "block_multiple_of": 256,
    "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": true, "full_attn_idxs": null, "layer_types": null,
    "block_ff_dim": null, "tie_embedding": null, "head_dim": null, "rope_theta": 1000000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"block_use_swiglu": [true], "use_pos_enc": [true], "partial_rotary_factor": [null, 1.0]},
  "unused": ["block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_xavier_init",
    "conv_dim", "conv_dim_out", "conv_use_xavier_init", "num_heads", "theta"]
})";

constexpr int32_t kMaxTaps = 1024;

// The width of the feed-forward network is computed from the configured one.
Status AdjustFeedForward(formats::HfConfig& config) {
  const auto old = config.raw.Find<uint32_t>("block_ff_dim");
  if (!old) return Forward(old);
  if (*old) config.intermediate_size = *old;
  const auto adjust = config.raw.Get<bool>("block_auto_adjust_ff_dim");
  const auto factor = config.raw.Get<double>("block_ffn_dim_multiplier");
  const auto multiple = config.raw.Get<uint32_t>("block_multiple_of");
  if (!adjust) return Forward(adjust);
  if (!factor) return Forward(factor);
  if (!multiple) return Forward(multiple);
  if (!*adjust || !config.intermediate_size) return {};
  const double width = *factor * static_cast<double>(2 * uint64_t{*config.intermediate_size} / 3);
  if (!(width >= 1.0 && width <= double{1 << 24}) || *multiple < 1 || *multiple > 1 << 24) {
    return Fail(ErrorCode::kDataLoss, "{}: block_ffn_dim_multiplier {} and block_multiple_of {} make no width",
                config.raw.source(), *factor, *multiple);
  }
  config.intermediate_size = (static_cast<uint32_t>(width) + *multiple - 1) / *multiple * *multiple;
  return {};
}

// Old files list the layers with attention; new ones name every layer's kind.
Status ReadLayerTypes(formats::HfConfig& config) {
  if (config.layer_types.empty()) {
    const auto attention = config.raw.Find<std::vector<uint32_t>>("full_attn_idxs");
    if (!attention) return Forward(attention);
    for (uint32_t i = 0; i < config.layers; ++i) {
      const bool full = !*attention || std::ranges::find(**attention, i) != (*attention)->end();
      config.layer_types.push_back(full ? "full_attention" : "conv");
    }
  }
  if (config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  for (const std::string& type : config.layer_types) {
    if (type != "conv" && type != "full_attention") {
      return Fail(ErrorCode::kUnsupported, "{}: layer_types has '{}'; supported are conv and full_attention",
                  config.raw.source(), type);
    }
    config.layer_kv_heads.push_back(type == "conv" ? 0 : config.kv_heads);
  }
  return {};
}

}  // namespace

Status PrepareLfm2(formats::HfConfig& config) {
  const auto epsilon = config.raw.Get<double>("norm_eps");
  if (!epsilon) return Forward(epsilon);
  SetDefault(config.rms_norm_eps, *epsilon);
  const auto tied = config.raw.Find<bool>("tie_embedding");
  if (!tied) return Forward(tied);
  if (*tied) {
    config.tie_word_embeddings = **tied;
  }
  return ReadLayerTypes(config);
}

Result<ModelConfig> ReadLfm2(const ModelSource& source, int32_t context, ModelConfig family) {
  const auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  auto taps = ReadSizes(source, *architecture + ".", {{"shortconv.l_cache", &family.conv_taps, kMaxTaps, true}});
  if (!taps) return Forward(taps);
  if (family.conv_taps < 2) {
    return Fail(ErrorCode::kUnsupported, "{}: {}.shortconv.l_cache is {}; at least 2 is supported", source.path(),
                *architecture, family.conv_taps);
  }
  family.qk_norm = QkNorm::kHead;
  family.output_norm = "token_embd_norm";
  return ReadDecoderConfig(source, context, std::move(family));
}

const Family& Lfm2() {
  static const Family family{
      .architecture = "lfm2",
      .read = [](const ModelSource& source, int32_t context) { return ReadLfm2(source, context, {}); },
      .checkpoints = {{.model_types = {"lfm2"},
                       .keys = kLfm2Keys,
                       .own_tensors = {{"layers.*.feed_forward.w1", "blk.*.ffn_gate"},
                                       {"layers.*.feed_forward.w3", "blk.*.ffn_up"},
                                       {"layers.*.feed_forward.w2", "blk.*.ffn_down"}},
                       .tensors = {kLfm2Tensors, kDecoderTensors},
                       .counts = {{"conv_L_cache", "shortconv.l_cache"}},
                       .prepare = [](formats::HfConfig& config) {
                         if (auto adjusted = AdjustFeedForward(config); !adjusted) return adjusted;
                         return PrepareLfm2(config);
                       }}}};
  return family;
}

}  // namespace inferflux::model
