// What a running model can do, derived from its backend's concepts and the model's own facts by one function.
#pragma once

#include "compute/backend.h"
#include "compute/device_features.h"

namespace inferflux::compute {

// What holds of an engine whatever the model is: a backend's concepts, or what a library does.
struct EngineTraits {
  bool paged_kv = false;          // PagedKv: rows of many sequences in one step, blocks that are copied
  bool truncatable_kv = false;    // tokens can be removed from a sequence's end, any number of them
  bool addressable_kv = false;    // AddressableKv
  bool host_logits = false;       // logits can be read on the host, where masks and log probabilities are
  bool batch_invariant = false;   // BatchInvariant
  bool device_sampling = false;   // DeviceSampling
  bool graph_capture = false;     // GraphCapture
  bool embedding_inputs = false;  // EmbeddingInputs
};

struct ModelTraits {
  bool causal = true;   // false: an encoder
  bool pooled = false;  // its hidden states become a text's embedding
};

struct Capabilities {
  bool generation = false;                // makes text
  bool phased_execution = false;          // a step may hold prompts alone, or decodes alone
  bool unified_execution = false;         // a step may mix them
  bool prefix_copy = false;               // sequences share the KV of a common beginning
  bool logprobs = false;                  // of prompts and of outputs
  bool structured_output = false;         // a kSample output keeps to its mask
  bool speculative_verification = false;  // drafted tokens are checked in one step, and rejected ones are removed
  bool kv_save_restore = false;           // a sequence's KV can leave the engine and come back
  bool embeddings = false;                // vectors of texts
  bool multimodal = false;                // inputs that are not tokens
  bool graph_capture = false;             // a step is recorded and run again
  bool device_sampling = false;           // logits need not reach the host
  bool batch_invariant = false;           // the same logits, bit for bit, whatever else is in the step
};

template <class B, class Kv>
requires PagedKv<B, Kv>
consteval EngineTraits EngineTraitsOf() {
  return {.paged_kv = true,
          .truncatable_kv = true,  // a block table is cut anywhere
          .addressable_kv = AddressableKv<B, Kv>,
          .host_logits = true,  // Backend's Read
          .batch_invariant = BatchInvariant<B>,
          .device_sampling = DeviceSampling<B>,
          .graph_capture = GraphCapture<B>,
          .embedding_inputs = EmbeddingInputs<B>};
}

// The one place where capabilities come from.
constexpr Capabilities DeriveCapabilities(const EngineTraits& engine, const ModelTraits& model) {
  const bool steps = model.causal && engine.paged_kv;
  return {.generation = model.causal,
          .phased_execution = steps,
          .unified_execution = steps,
          .prefix_copy = steps,
          .logprobs = model.causal && engine.host_logits,
          .structured_output = model.causal && engine.host_logits,
          .speculative_verification = steps && engine.truncatable_kv,
          .kv_save_restore = model.causal && engine.addressable_kv,
          .embeddings = model.pooled,
          .multimodal = model.causal && engine.embedding_inputs,
          .graph_capture = engine.graph_capture,
          .device_sampling = model.causal && engine.device_sampling,
          .batch_invariant = engine.batch_invariant};
}

}  // namespace inferflux::compute
