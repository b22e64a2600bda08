// The structure of a model, decoder or encoder, independent of its file format. A family's file (families/) fills it
// from metadata, and the one forward pass (layer_forward.h) reads it. Fields are named after their effect, never after
// a family.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/params.h"
#include "model/pooling.h"

namespace inferflux::model {

enum class QkNorm {
  kNone,
  kHead,   // RMSNorm on each head of q and k
  kWhole,  // RMSNorm on the whole width of q and of k
  kPlain,  // RMSNorm without weights on each head of q and k, in layers that rotate
};

// xIELU (arXiv:2411.13010), an activation with coefficients: above * x^2 + linear * x for positive x, otherwise
// below * (e^x - 1 - x) + linear * x.
struct Xielu {
  float above = 0.0f;
  float below = 0.0f;
  float linear = 0.0f;
};

// The properties that may differ between the layers of one model.
struct LayerKind {
  compute::KvGeometry kv;  // its heads divide ModelConfig::heads; no heads: no attention
  int32_t rope = 0;        // index into ModelConfig::ropes; kNoRope: positions are not rotated
  bool dense = false;      // an ordinary feed-forward network, although the model has experts
  bool recurrent = false;  // in place of attention; if there are heads, beside it: the sum of both
  bool feed_forward = true;
  bool selects = false;  // of a model with an indexer: the layer has its own, not the selection of the layer before
  int32_t feed_forward_width = 0;  // 0: ModelConfig::feed_forward
  int32_t kv_layer = -1;           // kOwnKv, or the earlier layer whose keys and values are read; then `kv` is its
  bool values_are_keys = false;    // v is what k is before its norm and its rotation
  bool queries_grow = true;        // by ModelConfig::query_growth, if the model has that
  std::optional<Xielu> xielu;      // in place of ModelConfig::activation; only without a gate
  std::optional<float> gate_cut;   // of the gate before its activation: compute::ActivationSparsity's deviations
};
inline constexpr int32_t kNoRope = -1;
inline constexpr int32_t kOwnKv = -1;

// Queries grow with their position p: by 1 + growth * log(1 + floor((p + offset) / length)).
struct QueryGrowth {
  float growth = 0.0f;
  int32_t length = 0;
  int32_t offset = 0;
};

// Alternating updates (AltUp, arXiv:2301.13310): the residual state has several streams. A layer predicts all of them,
// computes one, and corrects the others by what that has become. Beside attention it has a product of low rank (LAuReL,
// arXiv:2411.07501).
struct AltUpConfig {
  int32_t streams = 0;
  int32_t active = 0;  // the computed stream
  int32_t laurel_rank = 0;
};

// Attention over latents (compute/latent_kv.h).
struct LatentConfig {
  int32_t query_rank = 0;  // of the latent that queries are made of; 0: of the state itself
  int32_t rank = 0;        // of the latent that keys and values are made of
  int32_t plain = 0;       // dimensions of a head's key that are not rotated
  int32_t rotated = 0;     // and that are; all heads share them
  int32_t value = 0;       // dimensions of a head's value
};

// Selects the tokens that attention reads (compute::SparseKv).
struct IndexerConfig {
  int32_t heads = 0;
  int32_t head_dim = 0;
  int32_t top = 0;  // tokens
  compute::RopeStyle rope_style = compute::RopeStyle::kHalves;
};

// The mixture of experts (MoE) that replaces the feed-forward network.
struct MoeConfig {
  int32_t experts = 0;              // 0: an ordinary feed-forward network
  int32_t feed_forward = 0;         // of one expert
  int32_t shared_feed_forward = 0;  // of the expert that processes every token; 0: none
  bool shared_gate = true;          // the shared expert has a weight for each row
  int32_t width = 0;                // of the experts' inputs and outputs, projections of the state; 0: the state itself
  bool weighs_inputs = false;       // a row's weight multiplies its expert's input; only with one expert per row
  bool beside_dense = false;        // an ordinary network is added to the experts, each with norms of its own
  compute::RoutingParams routing;
};

struct ModelConfig {
  std::string architecture;  // as the file names it

  int32_t vocab_size = 0;
  int32_t hidden = 0;
  int32_t layers = 0;
  int32_t heads = 0;     // of the queries; 0: no layer has attention
  int32_t head_dim = 0;  // of queries and keys, unless a layer has its own
  int32_t feed_forward = 0;
  int32_t context = 0;  // tokens that the model supports: its trained context, or the length to which RoPE is scaled

  std::vector<LayerKind> layer_kinds;  // [layers]

  // false: an encoder. Tokens also attend to later tokens, no state of a sequence is kept, and there are no logits.
  bool causal = true;
  PoolingConfig pooling;
  std::vector<HeadLayer> head;  // applied to a pooled state, in this order
  // Of the head's hidden layer, if a classifier's file does not say.
  HeadActivation head_activation = HeadActivation::kTanh;

  // --- positions ---
  compute::RopeStyle rope_style = compute::RopeStyle::kHalves;
  std::vector<compute::RopeSpec> ropes;
  bool learned_positions = false;  // a table of [context, hidden] is added to the embedding
  int32_t token_types = 0;         // rows of a table by token type, which is added: 0: one text, 1: the second of two

  // --- norms ---
  float norm_epsilon = 1e-5f;
  bool layer_norm = false;                     // LayerNorm instead of RMSNorm
  bool norm_bias = true;                       // LayerNorm has a bias
  bool input_norms = true;                     // before attention and before the feed-forward network
  bool first_norm = true;                      // false: the first layer has none before attention
  bool output_norms = false;                   // after them, before the residual sum
  bool residual_norms = false;                 // after them, on the residual sum
  bool embedding_norm = false;                 // on the input of the first layer
  bool final_norm = true;                      // on the output of the last layer
  std::string output_norm = "output_norm";     // its tensor
  std::string attention_norm = "attn_norm";    // the tensor of the norm before attention
  std::string feed_forward_norm = "ffn_norm";  // the same for the feed-forward network; empty: attention's (parallel)
  QkNorm qk_norm = QkNorm::kNone;
  bool qk_norm_after_rope = false;
  bool value_norm = false;  // on each head of v, without weights

  // The feed-forward network reads the layer's input instead of attention's result, and both are added to it
  // (Wang and Komatsuzaki, GPT-J-6B, 2021).
  bool parallel = false;

  // --- attention and feed-forward ---
  bool attention = true;  // false: in no layer
  float attention_scale = 1.0f;
  float attention_softcap = 0.0f;  // 0: none
  bool attention_sinks = false;
  std::optional<QueryGrowth> query_growth;
  bool distance_biases = false;  // attn_rel_b has biases of the scores, by head and bucketed distance, for all layers
  bool attention_gate =
      false;  // attn_q has a gate behind each head's query, and attention's result is multiplied by it

  std::optional<LatentConfig> latent;    // in all layers; head_dim is then rank + rotated
  std::optional<IndexerConfig> indexer;  // only with latents

  // --- recurrent layers: a short convolution, alone or before gated DeltaNet or Mamba-2 ---
  int32_t conv_taps = 0;  // rows that a short convolution sums; 0: the model has none
  std::optional<compute::DeltaNetParams> delta_net;
  std::optional<compute::StateSpaceParams> state_space;

  bool qkv_bias = false;  // these biases are required; others are optional
  bool gated = true;      // act(gate) * up; otherwise act(up)
  compute::Activation activation = compute::Activation::kSilu;
  MoeConfig moe;

  std::optional<AltUpConfig> altup;
  int32_t layer_input = 0;  // width of the inputs that each layer has from the tokens (layer_inputs.h); 0: none

  // --- scales; 1 and 0 change nothing ---
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;  // of a layer's contribution to the residual sum
  float logit_scale = 1.0f;
  float logit_softcap = 0.0f;
};

// The values of each part of a recurrent state (compute::StateShape). Layer i has the parts 2 * i, of its convolution,
// and 2 * i + 1, of its DeltaNet or its state space.
inline std::vector<int64_t> StateLayers(const ModelConfig& config) {
  int64_t width = config.hidden, values = 0;
  if (const auto& delta = config.delta_net) {
    width = 2 * delta->keys() + delta->values();
    values = delta->values() * delta->key_dim;
  } else if (const auto& space = config.state_space) {
    width = space->width();
    values = space->inner() * space->state;
  }
  std::vector<int64_t> out;
  for (const LayerKind& kind : config.layer_kinds) {
    out.push_back(kind.recurrent ? (config.conv_taps - 1) * width : 0);
    out.push_back(kind.recurrent ? values : 0);
  }
  return out;
}

inline bool IsRecurrent(const ModelConfig& config) {
  return std::ranges::any_of(config.layer_kinds, &LayerKind::recurrent);
}

// The KV geometry of each layer. An encoder keeps no KV between layers, so all its layers share the first one's. A
// layer that reads another's has none.
inline std::vector<compute::KvGeometry> KvLayers(const ModelConfig& config) {
  std::vector<compute::KvGeometry> out;
  for (const LayerKind& kind : config.layer_kinds) {
    if (!config.causal && !out.empty()) continue;
    out.push_back(kind.kv);
    if (kind.kv_layer != kOwnKv) out.back().heads = 0;
  }
  return out;
}

}  // namespace inferflux::model
