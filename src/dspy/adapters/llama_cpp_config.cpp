#include "dspy/adapters/llama_cpp_config.h"

namespace inferflux::dspy {
namespace {

Status AtLeast(std::string_view name, const std::optional<int64_t>& value, int64_t low) {
  if (!value || *value >= low) return {};
  return FailAt(name, Error::kNoPosition, "{} is {}; it must be at least {}", name, *value, low);
}

}  // namespace

Result<LlamaCppConfig> LlamaCppConfigBuilder::Build() const {
  if (auto checked = Check(config_.call); !checked) return Forward(checked);
  return config_;
}

Status CheckAgainst(const LlamaCppConfig& config, const LlamaCppLoad& load) {
  const Status checks[] = {AtLeast("context", load.context, 1), AtLeast("batch", load.batch, 1),
                           AtLeast("threads", load.threads, 1), AtLeast("gpu_layers", load.gpu_layers, 0)};
  for (const Status& check : checks) {
    if (!check) return check;
  }
  const auto& tokens = config.call.sampling.max_tokens;
  if (tokens && load.context && *tokens >= *load.context) {
    return FailAt("max_tokens", Error::kNoPosition,
                  "max_tokens is {}, and the model was loaded with a context of {}; at most {} leave room for a prompt",
                  *tokens, *load.context, *load.context - 1);
  }
  return {};
}

}  // namespace inferflux::dspy
