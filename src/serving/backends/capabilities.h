// What a loaded model can do for a request. This follows from its engine (compute/capabilities.h) and its chat
// template.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/engine.h"

namespace inferflux::serving {

enum class Feature : uint8_t {
  kCompletions,
  kChat,
  kEmbeddings,
  kScores,
  kLogprobs,
  kPromptLogprobs,
  kStructuredOutput,
  kStreaming
};

// The name in messages, metrics and the API: "completions", "chat", ...
std::string_view FeatureName(Feature feature);

struct Capabilities {
  bool completions = true;  // generates text
  bool chat = true;         // has a chat template
  bool embeddings = false;
  bool scores = false;            // scores texts and pairs of texts with a classification head
  bool logprobs = true;           // for generated tokens
  bool prompt_logprobs = true;    // for the prompt's tokens
  bool structured_output = true;  // constrains its output to a grammar
  bool streaming = true;
  bool speculative_decoding = true;  // the engine verifies draft tokens in one step
  bool kv_prefix_copy = true;        // requests share the KV of a common prefix
  bool kv_save_restore = false;      // a session's KV can leave the engine and come back
  bool unified_batch = true;         // one step mixes prompts and decodes
  bool phased_execution = true;      // prompts and decodes may run in separate steps
  bool multimodal = false;           // accepts inputs other than text
  bool graph_capture = false;        // a step's operations are recorded once and replayed
  bool device_sampling = false;      // tokens are sampled on the device
  bool batch_invariant = false;      // bit-identical logits, whatever else runs

  bool Has(Feature feature) const;
};

Capabilities CapabilitiesOf(const engine::EngineInfo& engine, bool chat_template);

}  // namespace inferflux::serving
