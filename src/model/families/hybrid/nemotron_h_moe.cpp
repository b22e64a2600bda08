// Nemotron 3 (NVIDIA, 2025): Nemotron-H's layers, whose feed-forward networks are experts without gates, scored by
// sigmoids and chosen with biases, beside a shared one. In the larger models the experts work on a narrower projection.
#include "model/families/family.h"
#include "model/families/hybrid/nemotron_h.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

Status PrepareNemotronMoe(formats::HfConfig& config) {
  config.expert_gating = formats::HfExpertGating::kSigmoid;
  const auto shared = config.raw.Get<uint32_t>("moe_shared_expert_intermediate_size");
  if (!shared) return Forward(shared);
  config.shared_expert_intermediate_size = *shared;
  const auto width = config.raw.Find<uint32_t>("moe_latent_size");
  if (!width) return Forward(width);
  if (*width) config.counts["moe_latent_size"] = **width;
  return PrepareNemotron(config, "moe", *config.expert_intermediate_size);
}

Result<ModelConfig> ReadNemotronMoe(const ModelSource& source, int32_t context) {
  MoeConfig moe{.shared_gate = false, .routing = {.normalise = true, .score = compute::ExpertScore::kSigmoid}};
  auto size = ReadSizes(source, "nemotron_h_moe.", {{"moe_latent_size", &moe.width, 1 << 24, false}});
  if (!size) return Forward(size);
  return ReadNemotron(source, context, {.moe = moe});
}

}  // namespace

const Family& NemotronHMoe() {
  static const Family family{
      .architecture = "nemotron_h_moe",
      .read = ReadNemotronMoe,
      .checkpoints = {{.model_types = {"nemotron_h"},
                       .keys = kNemotronKeys,
                       .applies = HasNemotronExperts,
                       .own_tensors = {{"layers.*.mixer.gate", "blk.*.ffn_gate_inp"},
                                       {"layers.*.mixer.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true},
                                       {"layers.*.mixer.experts.*.up_proj", "blk.*.ffn_up_exps"},
                                       {"layers.*.mixer.experts.*.down_proj", "blk.*.ffn_down_exps"},
                                       {"layers.*.mixer.shared_experts.up_proj", "blk.*.ffn_up_shexp"},
                                       {"layers.*.mixer.shared_experts.down_proj", "blk.*.ffn_down_shexp"},
                                       {"layers.*.mixer.fc1_latent_proj", "blk.*.ffn_latent_down"},
                                       {"layers.*.mixer.fc2_latent_proj", "blk.*.ffn_latent_up"}},
                       .tensors = {kNemotronTensors, kMixerTensors},
                       .prefixes = kNemotronPrefixes,
                       .ignored = kNotNemotronText,
                       .prepare = PrepareNemotronMoe}}};
  return family;
}

}  // namespace inferflux::model
