#include "model/huggingface/hf_family.h"

#include <fmt/ranges.h>

#include <array>
#include <vector>

namespace inferflux::model {
namespace {

constexpr std::string_view kTanhGelu = "gelu_pytorch_tanh";

constexpr std::array kFamilies = {
    HfFamily{.model_type = "llama", .architecture = "llama", .interleaved = true},
    HfFamily{.model_type = "mistral", .architecture = "llama", .interleaved = true},
    HfFamily{.model_type = "mixtral", .architecture = "llama", .interleaved = true},
    HfFamily{.model_type = "qwen2", .architecture = "qwen2"},
    HfFamily{.model_type = "qwen2_moe", .architecture = "qwen2moe"},
    HfFamily{.model_type = "qwen3", .architecture = "qwen3"},
    HfFamily{.model_type = "qwen3_moe", .architecture = "qwen3moe"},
    HfFamily{.model_type = "phi3", .architecture = "phi3"},
    HfFamily{.model_type = "gemma2",
             .architecture = "gemma2",
             .activation = kTanhGelu,
             .shifted_norms = true,
             .norms_after = true},
    HfFamily{.model_type = "gemma3_text",
             .architecture = "gemma3",
             .activation = kTanhGelu,
             .shifted_norms = true,
             .norms_after = true},
    HfFamily{.model_type = "granite", .architecture = "granite", .interleaved = true},
    HfFamily{.model_type = "olmo2", .architecture = "olmo2", .norms_after = true},
    HfFamily{.model_type = "olmo3", .architecture = "olmo2", .norms_after = true},
    HfFamily{.model_type = "smollm3", .architecture = "smollm3", .interleaved = true},
    HfFamily{.model_type = "starcoder2", .architecture = "starcoder2", .activation = kTanhGelu},
    HfFamily{.model_type = "gpt2", .architecture = "gpt2", .activation = "gelu_new", .inputs_first = true},
};

}  // namespace

std::span<const HfFamily> HfFamilies() { return kFamilies; }

Result<const HfFamily*> FindHfFamily(const formats::HfConfig& config) {
  const std::string& source = config.raw.source();
  if (config.quantization) {
    return Fail(ErrorCode::kUnsupported, "{}: a checkpoint quantised by '{}' cannot be read; use the model's original "
                "weights, or a GGUF file of it", source, config.quantization->method);
  }
  std::vector<std::string_view> known;
  for (const HfFamily& family : kFamilies) {
    known.push_back(family.model_type);
    if (family.model_type != config.model_type) continue;
    if (config.hidden_act && *config.hidden_act != family.activation) {
      return Fail(ErrorCode::kUnsupported, "{}: model_type '{}' with the activation '{}' is not supported, only with "
                  "'{}'", source, config.model_type, *config.hidden_act, family.activation);
    }
    return &family;
  }
  return Fail(ErrorCode::kUnsupported, "{}: model_type '{}' is not supported; supported are: {}", source,
              config.model_type, fmt::join(known, ", "));
}

}  // namespace inferflux::model
