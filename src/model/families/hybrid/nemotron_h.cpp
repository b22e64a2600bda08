// Nemotron-H (NVIDIA; arXiv:2504.03624) and Nemotron Nano 2: layers of one part each, which is Mamba-2, attention
// without positions, or a feed-forward network with squared ReLU.
#include "model/families/hybrid/nemotron_h.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kMamba = "linear_attention", kAttention = "full_attention", kMlp = "mlp", kMoe = "moe";

// The kind of each layer: a list of names, or a letter for each. If a file has both, the list counts, as in
// transformers.
Result<std::vector<std::string>> LayerKinds(const formats::JsonObject& root) {
  std::vector<std::string> kinds;
  for (const char* key : {"layers_block_type", "layer_types"}) {
    auto listed = root.Find<std::vector<std::string>>(key);
    if (!listed) return Forward(listed);
    if (!*listed) continue;
    kinds = std::move(**listed);
    break;
  }
  const auto pattern = root.Find<std::string>("hybrid_override_pattern");
  if (!pattern) return Forward(pattern);
  if (kinds.empty() && *pattern) {
    for (const char letter : **pattern) kinds.emplace_back(1, letter);
  }
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"M", kMamba}, {"mamba", kMamba}, {"*", kAttention}, {"attention", kAttention},
      {"-", kMlp},   {"E", kMoe},       {kMamba, kMamba},  {kAttention, kAttention},
      {kMlp, kMlp},  {kMoe, kMoe},
  };
  for (std::string& kind : kinds) {
    const auto* known = std::ranges::find(kNames, kind, &std::pair<std::string_view, std::string_view>::first);
    if (known == std::end(kNames)) {
      return Fail(ErrorCode::kUnsupported, "{}: a layer of the kind '{}'; supported are mamba, attention, mlp and moe",
                  root.source(), kind);
    }
    kind = known->second;
  }
  return kinds;
}

Status PrepareNemotronH(formats::HfConfig& config) {
  config.experts.reset();
  config.shared_experts.reset();
  return PrepareNemotron(config, kMlp, *config.intermediate_size);
}

}  // namespace

Result<bool> HasNemotronExperts(const formats::JsonObject& root) {
  const auto kinds = LayerKinds(root);
  if (!kinds) return Forward(kinds);
  return std::ranges::find(*kinds, kMoe) != kinds->end();
}

Status PrepareNemotron(formats::HfConfig& config, std::string_view network, uint32_t width) {
  const auto kinds = LayerKinds(config.raw);
  if (!kinds) return Forward(kinds);
  if (kinds->size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: the kinds of {} layers are listed, but there are {}", config.raw.source(),
                kinds->size(), config.layers);
  }
  for (const std::string& kind : *kinds) {
    if ((kind == kMlp || kind == kMoe) && kind != network) {
      return Fail(ErrorCode::kUnsupported, "{}: layers with experts and layers with one network are not supported",
                  config.raw.source());
    }
    config.layer_kv_heads.push_back(kind == kAttention ? config.kv_heads : 0);
    config.layer_feed_forward.push_back(kind == network ? width : 0);
  }
  config.layer_types.clear();
  config.rms_norm_eps = config.layer_norm_eps;
  return PrepareStateSpace(config, {.heads = "mamba_num_heads",
                                    .head_dim = "mamba_head_dim",
                                    .groups = "n_groups",
                                    .state = "ssm_state_size",
                                    .taps = "conv_kernel"});
}

Result<ModelConfig> ReadNemotron(const ModelSource& source, int32_t context, ModelConfig family) {
  family.gated = false;
  family.activation = compute::Activation::kReluSquared;
  auto config = ReadStateSpaceModel(source, context, std::move(family));
  if (!config) return config;
  for (LayerKind& kind : config->layer_kinds) {
    kind.rope = kNoRope;
    if (kind.feed_forward) kind.recurrent = false;
  }
  return config;
}

const Family& NemotronH() {
  static const Family family{
      .architecture = "nemotron_h",
      .read = [](const ModelSource& source, int32_t context) { return ReadNemotron(source, context, {}); },
      .checkpoints = {{.model_types = {"nemotron_h"},
                       .keys = kNemotronKeys,
                       .tensors = {kNemotronTensors, kMixerTensors},
                       .prefixes = kNemotronPrefixes,
                       .ignored = kNotNemotronText,
                       .prepare = PrepareNemotronH}}};
  return family;
}

}  // namespace inferflux::model
