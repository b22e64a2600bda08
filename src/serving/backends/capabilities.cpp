#include "serving/backends/capabilities.h"

namespace inferflux::serving {

std::string_view FeatureName(Feature feature) {
  switch (feature) {
    case Feature::kCompletions:
      return "completions";
    case Feature::kChat:
      return "chat";
    case Feature::kEmbeddings:
      return "embeddings";
    case Feature::kScores:
      return "scores";
    case Feature::kLogprobs:
      return "logprobs";
    case Feature::kPromptLogprobs:
      return "prompt_logprobs";
    case Feature::kStructuredOutput:
      return "structured_output";
    case Feature::kStreaming:
      break;
  }
  return "streaming";
}

bool Capabilities::Has(Feature feature) const {
  switch (feature) {
    case Feature::kCompletions:
      return completions;
    case Feature::kChat:
      return chat;
    case Feature::kEmbeddings:
      return embeddings;
    case Feature::kScores:
      return scores;
    case Feature::kLogprobs:
      return logprobs;
    case Feature::kPromptLogprobs:
      return prompt_logprobs;
    case Feature::kStructuredOutput:
      return structured_output;
    case Feature::kStreaming:
      break;
  }
  return streaming;
}

Capabilities CapabilitiesOf(const engine::EngineInfo& engine, bool chat_template) {
  const compute::Capabilities& can = engine.capabilities;
  return {.completions = can.generation,
          .chat = can.generation && chat_template,
          .embeddings = can.embeddings && engine.hidden > 0,
          .scores = can.scores,
          .logprobs = can.logprobs,
          .prompt_logprobs = can.logprobs,
          .structured_output = can.structured_output,
          .streaming = can.generation,
          .speculative_decoding = can.speculative_verification,
          .kv_prefix_copy = can.prefix_copy,
          .kv_save_restore = can.kv_save_restore,
          .unified_batch = can.unified_execution,
          .phased_execution = can.phased_execution,
          .multimodal = can.multimodal,
          .graph_capture = can.graph_capture,
          .device_sampling = can.device_sampling,
          .batch_invariant = can.batch_invariant};
}

}  // namespace inferflux::serving
