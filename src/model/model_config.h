// The structure of a model, decoder or encoder, independent of its file format. A family's file (families/) fills it
// from metadata, and the one forward pass (layer_forward.h) reads it. Fields are named after their effect, never after
// a family.
#pragma once

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
};

// The properties that may differ between the layers of one model.
struct LayerKind {
  compute::KvGeometry kv;  // its heads divide ModelConfig::heads; no heads: a recurrent layer in place of attention
  int32_t rope = 0;        // index into ModelConfig::ropes; kNoRope: positions are not rotated
  bool dense = false;      // an ordinary feed-forward network, although the model has experts
};
inline constexpr int32_t kNoRope = -1;

// The mixture of experts (MoE) that replaces the feed-forward network.
struct MoeConfig {
  int32_t experts = 0;              // 0: an ordinary feed-forward network
  int32_t feed_forward = 0;         // of one expert
  int32_t shared_feed_forward = 0;  // of the expert that processes every token; 0: none
  bool shared_gate = true;          // the shared expert has a weight for each row
  compute::RoutingParams routing;
};

struct ModelConfig {
  std::string architecture;  // as the file names it

  int32_t vocab_size = 0;
  int32_t hidden = 0;
  int32_t layers = 0;
  int32_t heads = 0;     // of the queries
  int32_t head_dim = 0;  // of queries and keys, unless a layer has its own
  int32_t feed_forward = 0;
  int32_t context = 0;  // tokens that the model supports: its trained context, or the length to which RoPE is scaled

  std::vector<LayerKind> layer_kinds;  // [layers]

  // false: an encoder. Tokens also attend to later tokens, no state of a sequence is kept, and there are no logits.
  bool causal = true;
  PoolingConfig pooling;

  // --- positions ---
  compute::RopeStyle rope_style = compute::RopeStyle::kHalves;
  std::vector<compute::RopeSpec> ropes;
  bool learned_positions = false;  // a table of [context, hidden] is added to the embedding
  bool token_types = false;        // adds the first row of a token type table: all text has the same type

  // --- norms ---
  float norm_epsilon = 1e-5f;
  bool layer_norm = false;                     // LayerNorm instead of RMSNorm
  bool norm_bias = true;                       // LayerNorm has a bias
  bool input_norms = true;                     // before attention and before the feed-forward network
  bool output_norms = false;                   // after them, before the residual sum
  bool residual_norms = false;                 // after them, on the residual sum
  bool embedding_norm = false;                 // on the input of the first layer
  bool final_norm = true;                      // on the output of the last layer
  std::string output_norm = "output_norm";     // its tensor
  std::string attention_norm = "attn_norm";    // the tensor of the norm before attention
  std::string feed_forward_norm = "ffn_norm";  // the same for the feed-forward network; empty: attention's (parallel)
  QkNorm qk_norm = QkNorm::kNone;
  bool qk_norm_after_rope = false;

  // The feed-forward network reads the layer's input instead of attention's result, and both are added to it
  // (Wang and Komatsuzaki, GPT-J-6B, 2021).
  bool parallel = false;

  // --- attention and feed-forward ---
  float attention_scale = 1.0f;
  float attention_softcap = 0.0f;  // 0: none
  bool attention_sinks = false;
  bool attention_gate =
      false;  // attn_q has a gate behind each head's query, and attention's result is multiplied by it

  // --- recurrent layers: a short convolution, alone or before gated DeltaNet ---
  int32_t conv_taps = 0;  // rows that a short convolution sums; 0: the model has none
  std::optional<compute::DeltaNetParams> delta_net;

  bool qkv_bias = false;  // these biases are required; others are optional
  bool gated = true;      // act(gate) * up; otherwise act(up)
  compute::Activation activation = compute::Activation::kSilu;
  MoeConfig moe;

  // --- scales; 1 and 0 change nothing ---
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;  // of a layer's contribution to the residual sum
  float logit_scale = 1.0f;
  float logit_softcap = 0.0f;
};

// The values of each part of a recurrent state (compute::StateShape). Layer i has the parts 2 * i, of its convolution,
// and 2 * i + 1, of its DeltaNet.
inline std::vector<int64_t> StateLayers(const ModelConfig& config) {
  std::vector<int64_t> out;
  for (const LayerKind& kind : config.layer_kinds) {
    const bool recurrent = kind.kv.heads == 0 && config.conv_taps > 0;
    const auto& delta = config.delta_net;
    const int64_t width = delta ? 2 * delta->keys() + delta->values() : config.hidden;
    out.push_back(recurrent ? (config.conv_taps - 1) * width : 0);
    out.push_back(recurrent && delta ? delta->values() * delta->key_dim : 0);
  }
  return out;
}

inline bool IsRecurrent(const ModelConfig& config) { return config.conv_taps > 0; }

// The KV geometry of each layer. An encoder keeps no KV between layers, so all its layers share the first one's.
inline std::vector<compute::KvGeometry> KvLayers(const ModelConfig& config) {
  std::vector<compute::KvGeometry> out;
  for (const LayerKind& kind : config.layer_kinds) {
    if (config.causal || out.empty()) out.push_back(kind.kv);
  }
  return out;
}

}  // namespace inferflux::model
