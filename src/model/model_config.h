// The structure of a model, decoder or encoder, independent of its file format. A family's file (families/) fills it
// from metadata, and the one forward pass (layer_forward.h) reads it. Fields are named after their effect, never after
// a family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/params.h"
#include "model/pooling.h"

namespace inferflux::model {

enum class QkNorm {
  kNone,
  kHead,   // RMSNorm on each head of q and k, before RoPE
  kWhole,  // RMSNorm on the whole width of q and of k, before RoPE
};

// The properties that may differ between the layers of one model.
struct LayerKind {
  compute::KvGeometry kv;  // its heads divide ModelConfig::heads
  int32_t rope = 0;        // index into ModelConfig::ropes; kNoRope: positions are not rotated
};
inline constexpr int32_t kNoRope = -1;

// The mixture of experts (MoE) that replaces the feed-forward network.
struct MoeConfig {
  int32_t experts = 0;              // 0: an ordinary feed-forward network
  int32_t feed_forward = 0;         // of one expert
  int32_t shared_feed_forward = 0;  // of the expert that processes every token; 0: none
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
  bool layer_norm = false;                     // LayerNorm with bias instead of RMSNorm
  bool input_norms = true;                     // before attention and before the feed-forward network
  bool output_norms = false;                   // after them, before the residual sum
  bool residual_norms = false;                 // after them, on the residual sum
  bool embedding_norm = false;                 // on the input of the first layer
  bool final_norm = true;                      // on the output of the last layer
  std::string feed_forward_norm = "ffn_norm";  // the tensor of the norm before the feed-forward network
  QkNorm qk_norm = QkNorm::kNone;

  // --- attention and feed-forward ---
  float attention_scale = 1.0f;
  float attention_softcap = 0.0f;  // 0: none
  bool attention_sinks = false;
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

// The KV geometry of each layer. An encoder keeps no KV between layers, so all its layers share the first one's.
inline std::vector<compute::KvGeometry> KvLayers(const ModelConfig& config) {
  std::vector<compute::KvGeometry> out;
  for (const LayerKind& kind : config.layer_kinds) {
    if (config.causal || out.empty()) out.push_back(kind.kv);
  }
  return out;
}

}  // namespace inferflux::model
