// Gemma 3n (Google, 2025), its text: Gemma 3's layers with norms on the heads of v and scores that are not scaled,
// inside alternating updates of several streams (AltUp) with LAuReL; inputs of each layer from the tokens (per-layer
// embeddings); networks that keep a few of their gates. The last layers read the keys and values of earlier ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"
#include "model/families/read_shared_kv.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGemma3nKeys = R"({
  "read": {"vocab_size": 262400, "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 35,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false,
    "sliding_window": 512, "layer_types": null, "final_logit_softcapping": 30.0, "vocab_size_per_layer_input": 262144,
    "hidden_size_per_layer_input": 256, "altup_active_idx": 0, "altup_num_inputs": 4, "num_kv_shared_layers": 15,
    "laurel_rank": 64, "activation_sparsity_pattern": null, "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0,
    "rope_parameters": null, "rope_parameters.full_attention": null},
  "only": {"altup_correct_scale": [true], "rope_scaling": [null], "partial_rotary_factor": [null, 1.0]},
  "unused": ["altup_coef_clip", "altup_lr_multiplier", "query_pre_attn_scalar", "hidden_act"]
})";

constexpr uint32_t kWindowPeriod = 5, kSparseLayers = 10;
constexpr double kUsualSparsity = 0.95;
constexpr const char* kCuts = "activation_sparsity_scale";

// The number of deviations above the mean beyond which a share of 1 - `below` of a normal distribution lies.
double Deviations(double below) {
  double low = -40.0, high = 40.0;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < below ? low : high) = middle;
  }
  return (low + high) / 2;
}

Status PrepareSparsity(formats::HfConfig& config) {
  constexpr const char* kKey = "activation_sparsity_pattern";
  const auto listed = config.raw.Find<std::vector<double>>(kKey);
  if (!listed) return Forward(listed);
  std::vector<double> shares(config.layers);
  if (*listed) {
    shares = **listed;
  } else if (config.layers > kSparseLayers) {
    std::fill_n(shares.begin(), kSparseLayers, kUsualSparsity);
  }
  if (shares.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", config.raw.source(), kKey, shares.size(),
                config.layers);
  }
  std::vector<float>& cuts = config.lists[kCuts];
  for (const double share : shares) {
    if (!(share >= 0.0 && share < 1.0)) {
      return Fail(ErrorCode::kDataLoss, "{}: {} has {}, which is not between 0 and 1", config.raw.source(), kKey,
                  share);
    }
    cuts.push_back(share > 0.0 ? static_cast<float>(Deviations(share)) : -std::numeric_limits<float>::infinity());
  }
  return {};
}

Status PrepareGemma3n(formats::HfConfig& config) {
  struct Count {
    const char *key, *gguf;
  };
  for (const auto& [key, gguf] :
       {Count{"altup_active_idx", "altup.active_idx"}, Count{"altup_num_inputs", "altup.num_inputs"},
        Count{"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
        Count{"num_kv_shared_layers", "attention.shared_kv_layers"}}) {
    const auto value = config.raw.Get<uint32_t>(key);
    if (!value) return Forward(value);
    config.counts[gguf] = *value;
  }
  const uint32_t streams = config.counts["altup.num_inputs"];
  config.stacked = streams > 0 ? streams - 1 : 0;
  const bool by_period = config.layer_types.empty();
  for (uint32_t i = 0; by_period && i < config.layers; ++i) {
    config.layer_types.push_back((i + 1) % kWindowPeriod != 0 ? "sliding_attention" : "full_attention");
  }
  return PrepareSparsity(config);
}

Status ReadCuts(const ModelSource& source, ModelConfig* config) {
  const std::string key = std::string("gemma3n.") + kCuts;
  const auto cuts = source.metadata().Get<std::vector<float>>(key);
  if (!cuts) return Forward(cuts);
  if (std::ssize(*cuts) < config->layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, cuts->size(),
                config->layers);
  }
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    const float cut = (*cuts)[i];
    if (std::isnan(cut) || cut > 40.0f) {
      return Fail(ErrorCode::kDataLoss, "{}: {} of layer {} is {}, which cuts all", source.path(), key, i, cut);
    }
    if (std::isfinite(cut)) config->layer_kinds[i].gate_cut = cut;
  }
  return {};
}

Status ReadStreams(const ModelSource& source, ModelConfig* config) {
  constexpr int32_t kMaxStreams = 64, kMaxWidth = 1 << 16;
  AltUpConfig altup;
  auto read = ReadSizes(source, "gemma3n.",
                        {{"altup.num_inputs", &altup.streams, kMaxStreams, true},
                         {"embedding_length_per_layer_input", &config->layer_input, kMaxWidth, true}});
  if (!read) return read;
  const auto active = source.metadata().GetOr<int64_t>("gemma3n.altup.active_idx", 0);
  if (!active) return Forward(active);
  if (altup.streams < 2 || *active < 0 || *active >= altup.streams) {
    return Fail(ErrorCode::kDataLoss, "{}: gemma3n.altup.active_idx is {} of {} streams, of which there must be two",
                source.path(), *active, altup.streams);
  }
  altup.active = static_cast<int32_t>(*active);
  const compute::HostMatrix* laurel = source.Find("blk.0.laurel_l.weight");
  if (laurel == nullptr)
    return Fail(ErrorCode::kNotFound, "{}: tensor 'blk.0.laurel_l.weight' is missing", source.path());
  altup.laurel_rank = static_cast<int32_t>(laurel->rows);
  config->altup = altup;
  return {};
}

Result<ModelConfig> ReadGemma3n(const ModelSource& source, int32_t context) {
  ModelConfig family{
      .output_norms = true, .qk_norm = QkNorm::kHead, .value_norm = true, .activation = compute::Activation::kGeluTanh};
  auto config = ReadDecoderConfig(source, context, std::move(family), kWindowPeriod);
  if (!config) return config;
  config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  config->attention_scale = 1.0f;
  if (auto rope = ReadWindowRope(source, 10000.0f, kWindowPeriod, &*config); !rope) return Forward(rope);
  if (auto read = ReadSharedKvLayers(source, &*config); !read) return Forward(read);
  if (auto read = ReadStreams(source, &*config); !read) return Forward(read);
  if (auto read = ReadCuts(source, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& Gemma3n() {
  static const Family family{
      .architecture = "gemma3n",
      .read = ReadGemma3n,
      .checkpoints = {{.model_types = {"gemma3n_text"},
                       .keys = kGemma3nKeys,
                       .activation = "gelu_pytorch_tanh",
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.pre_feedforward_layernorm", "blk.*.ffn_norm"},
                                       {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm"},
                                       {"layers.*.altup.correct_output_scale", "blk.*.altup_correct_scale",
                                        TensorChange::kNone, /*whole=*/true},
                                       {"layers.*.altup.correction_coefs", "blk.*.altup_correct_coef"},
                                       {"layers.*.altup.prediction_coefs", "blk.*.altup_predict_coef"},
                                       {"layers.*.altup.modality_router", "blk.*.altup_router"},
                                       {"layers.*.altup.router_norm", "blk.*.altup_router_norm"},
                                       {"layers.*.laurel.linear_left", "blk.*.laurel_l"},
                                       {"layers.*.laurel.linear_right", "blk.*.laurel_r"},
                                       {"layers.*.laurel.post_laurel_norm", "blk.*.laurel_post_norm"},
                                       {"layers.*.per_layer_input_gate", "blk.*.inp_gate"},
                                       {"layers.*.per_layer_projection", "blk.*.proj"},
                                       {"layers.*.post_per_layer_input_norm", "blk.*.post_norm"},
                                       {"altup_projections.*", "altup_proj", TensorChange::kNone, /*whole=*/false,
                                        /*complete=*/false, /*stacked=*/true},
                                       {"altup_unembed_projections.*", "altup_unembd_proj", TensorChange::kNone,
                                        /*whole=*/false, /*complete=*/false, /*stacked=*/true},
                                       {"embed_tokens_per_layer", "per_layer_token_embd", TensorChange::kPadRows},
                                       {"per_layer_model_projection", "per_layer_model_proj"},
                                       {"per_layer_projection_norm", "per_layer_proj_norm"}},
                       .tensors = {kQkNormTensors, kDecoderTensors},
                       .prepare = PrepareGemma3n}}};
  return family;
}

}  // namespace inferflux::model
