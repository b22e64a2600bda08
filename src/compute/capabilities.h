// What a running model can do. One function derives it from its backend's concepts and the model's facts.
#pragma once

#include "compute/backend.h"
#include "compute/device_features.h"

namespace inferflux::compute {

// Properties of an engine that do not depend on the model: from a backend's concepts, or from a library.
struct EngineTraits {
  bool paged_kv = false;          // PagedKv: rows of many sequences in one step, blocks can be copied
  bool truncatable_kv = false;    // any number of tokens can be removed from a sequence's end
  bool addressable_kv = false;    // AddressableKv
  bool host_logits = false;       // logits can be read on the host, which has masks and log probabilities
  bool batch_invariant = false;   // BatchInvariant
  bool device_sampling = false;   // DeviceSampling
  bool graph_capture = false;     // GraphCapture
  bool embedding_inputs = false;  // EmbeddingInputs
};

struct ModelTraits {
  bool causal = true;      // false: an encoder
  bool pooled = false;     // its hidden states become a text's embedding or scores
  bool scores = false;     // a sequence classifier: they become scores, and it generates nothing
  bool recurrent = false;  // it carries a state from token to token, which cannot be cut
};

struct Capabilities {
  bool generation = false;                // generates text
  bool phased_execution = false;          // a step may hold only prompts, or only decodes
  bool unified_execution = false;         // a step may mix them
  bool prefix_copy = false;               // sequences share the KV of a common prefix
  bool logprobs = false;                  // for prompts and for outputs
  bool structured_output = false;         // a kSample output respects its mask
  bool speculative_verification = false;  // draft tokens are checked in one step, and rejected ones are removed
  bool kv_save_restore = false;           // a sequence's KV can be saved and restored
  bool embeddings = false;                // embedding vectors of texts
  bool scores = false;                    // scores of texts or pairs of texts, from a classification head
  bool multimodal = false;                // inputs that are not tokens
  bool graph_capture = false;             // a step is recorded and replayed
  bool device_sampling = false;           // logits need not reach the host
  bool batch_invariant = false;           // the same logits, bit for bit, whatever else is in the step
};

template <class B, class Kv>
requires PagedKv<B, Kv>
consteval EngineTraits EngineTraitsOf() {
  return {.paged_kv = true,
          .truncatable_kv = true,  // a block table can be cut anywhere
          .addressable_kv = AddressableKv<B, Kv>,
          .host_logits = true,  // Backend's Read
          .batch_invariant = BatchInvariant<B>,
          .device_sampling = DeviceSampling<B>,
          .graph_capture = GraphCapture<B>,
          .embedding_inputs = EmbeddingInputs<B>};
}

// The only function that sets capabilities.
constexpr Capabilities DeriveCapabilities(const EngineTraits& engine, const ModelTraits& model) {
  const bool steps = model.causal && engine.paged_kv;
  const bool generates = model.causal && !model.scores;
  return {.generation = generates,
          .phased_execution = steps,
          .unified_execution = steps,
          .prefix_copy = steps,
          .logprobs = generates && engine.host_logits,
          .structured_output = generates && engine.host_logits,
          .speculative_verification = generates && steps && engine.truncatable_kv && !model.recurrent,
          .kv_save_restore = model.causal && engine.addressable_kv,
          .embeddings = model.pooled && !model.scores,
          .scores = model.scores,
          .multimodal = model.causal && engine.embedding_inputs,
          .graph_capture = engine.graph_capture,
          .device_sampling = generates && engine.device_sampling,
          .batch_invariant = engine.batch_invariant};
}

}  // namespace inferflux::compute
