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

}  // namespace inferflux::serving
