// What a loaded model can do for a request: what its engine can do (compute/capabilities.h), and whether it has a chat
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
  kLogprobs,
  kPromptLogprobs,
  kStructuredOutput,
  kStreaming
};

// "completions", "chat", ...: as messages, metrics and the API name it.
std::string_view FeatureName(Feature feature);

struct Capabilities {
  bool completions = true;  // generates text
  bool chat = true;         // has a chat template
  bool embeddings = false;
  bool logprobs = true;           // of the tokens that it generates
  bool prompt_logprobs = true;    // of the prompt's tokens
  bool structured_output = true;  // keeps its output to a grammar
  bool streaming = true;
  bool speculative_decoding = true;  // the engine checks drafted tokens in one step
  bool kv_prefix_copy = true;        // requests share the KV of a common beginning
  bool kv_save_restore = false;      // a session's KV can leave the engine and come back
  bool unified_batch = true;         // one step mixes prompts and decodes
  bool phased_execution = true;      // prompts and decodes may run in steps of their own
  bool multimodal = false;           // takes inputs that are not text
  bool graph_capture = false;        // a step's operations are recorded once and run again
  bool device_sampling = false;      // tokens are chosen on the device
  bool batch_invariant = false;      // the same logits, bit for bit, whatever else runs

  bool Has(Feature feature) const;
};

Capabilities CapabilitiesOf(const engine::EngineInfo& engine, bool chat_template);

}  // namespace inferflux::serving
