#include "dspy/adapters/llama_cpp_config.h"

namespace inferflux::dspy {
Result<LlamaCppConfig> LlamaCppConfigBuilder::Build() const {
  if (auto checked = Check(config_.call); !checked) return Forward(checked);
  return config_;
}

Status CheckAgainst(const CallSettings& call, const embedded::LoadOptions& load) {
  const auto& tokens = call.sampling.max_tokens;
  if (tokens && load.context && *tokens >= *load.context) {
    return FailAt("max_tokens", Error::kNoPosition,
                  "max_tokens is {}, and the model was loaded with a context of {}; at most {} leave room for a prompt",
                  *tokens, *load.context, *load.context - 1);
  }
  return {};
}

}  // namespace inferflux::dspy
