// What a model is, a decoder or an encoder, whatever file it came from. A family's file (families/) fills it from
// metadata; the one forward pass (layer_forward.h) reads it. Knobs are named after what they do, never after a family.
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

// Where the layers of one model differ.
struct LayerKind {
  compute::KvGeometry kv;  // its heads divide ModelConfig::heads
  int32_t rope = 0;        // which of ModelConfig::ropes; kNoRope: positions are not rotated
};
inline constexpr int32_t kNoRope = -1;

// The mixture of experts that takes the feed-forward network's place.
struct MoeConfig {
  int32_t experts = 0;              // 0: an ordinary feed-forward network
  int32_t feed_forward = 0;         // of one expert
  int32_t shared_feed_forward = 0;  // of the expert that every token goes to; 0: none
  compute::RoutingParams routing;
};

struct ModelConfig {
  std::string architecture;  // as the file names it

  int32_t vocab_size = 0;
  int32_t hidden = 0;
  int32_t layers = 0;
  int32_t heads = 0;     // of the queries
  int32_t head_dim = 0;  // of the queries and keys of a layer that says nothing else
  int32_t feed_forward = 0;
  int32_t context = 0;  // tokens that the model can serve: what it was trained for, or what its RoPE is stretched to

  std::vector<LayerKind> layer_kinds;  // [layers]

  // false: an encoder. Tokens see what follows them too, nothing is kept of a sequence, and there are no logits.
  bool causal = true;
  PoolingConfig pooling;

  // --- positions ---
  compute::RopeStyle rope_style = compute::RopeStyle::kHalves;
  std::vector<compute::RopeSpec> ropes;
  bool learned_positions = false;  // a table of [context, hidden] is added to the embedding
  bool token_types = false;  // the first row of a table of them is added to the embedding: all text is of one type

  // --- norms ---
  float norm_epsilon = 1e-5f;
  bool layer_norm = false;                     // LayerNorm with bias, in RMSNorm's place
  bool input_norms = true;                     // before attention and before the feed-forward network
  bool output_norms = false;                   // after them, before the residual is added
  bool residual_norms = false;                 // after them, of the sum
  bool embedding_norm = false;                 // of what the layers begin with
  bool final_norm = true;                      // of what the last layer yields
  std::string feed_forward_norm = "ffn_norm";  // the tensor of the norm before the feed-forward network
  QkNorm qk_norm = QkNorm::kNone;

  // --- attention and feed-forward ---
  float attention_scale = 1.0f;
  float attention_softcap = 0.0f;  // 0: none
  bool attention_sinks = false;
  bool qkv_bias = false;  // these biases must be there; others are used where the file has them
  bool gated = true;      // act(gate) * up; otherwise act(up)
  compute::Activation activation = compute::Activation::kSilu;
  MoeConfig moe;

  // --- scales; 1 and 0 change nothing ---
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;  // of what a layer adds to its input
  float logit_scale = 1.0f;
  float logit_softcap = 0.0f;
};

// The KV that a sequence needs, by layer. An encoder keeps nothing from one layer to the next: all use the first's.
inline std::vector<compute::KvGeometry> KvLayers(const ModelConfig& config) {
  std::vector<compute::KvGeometry> out;
  for (const LayerKind& kind : config.layer_kinds) {
    if (config.causal || out.empty()) out.push_back(kind.kv);
  }
  return out;
}

}  // namespace inferflux::model
