#include "model/huggingface/hf_family.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace inferflux::model {
namespace {

constexpr std::string_view kTanhGelu = "gelu_pytorch_tanh";

constexpr std::array kHfFamilies = {
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
    HfFamily{.model_type = "gpt_oss", .architecture = "gpt-oss", .norms_after = true},
    HfFamily{.model_type = "bert", .architecture = "bert", .activation = "gelu", .encoder = true},
    HfFamily{.model_type = "roberta",
             .architecture = "bert",
             .activation = "gelu",
             .encoder = true,
             .unused_positions = true},
    HfFamily{.model_type = "xlm-roberta",
             .architecture = "bert",
             .activation = "gelu",
             .encoder = true,
             .unused_positions = true},
    HfFamily{.model_type = "nomic_bert", .architecture = "nomic-bert", .encoder = true},
    HfFamily{.model_type = "gpt2", .architecture = "gpt2", .activation = "gelu_new", .inputs_first = true},
};

// Quantisations whose tensors CollectWeights knows, each in the form that it knows.
Status CheckQuantization(const formats::HfQuantization& quantization, const std::string& source) {
  const auto refuse = [&](std::string_view key, std::string_view value, std::string_view known) {
    return Fail(ErrorCode::kUnsupported,
                "{}: a checkpoint quantised by '{}' with {} '{}' cannot be read, only with {}; "
                "use the model's original weights, or a GGUF file of it",
                source, quantization.method, key, value, known);
  };
  const auto is = [](std::string_view text, std::string_view wanted) {  // some files write "GEMM"
    return std::equal(text.begin(), text.end(), wanted.begin(), wanted.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  const std::string& method = quantization.method;
  if (method == "gptq") {
    const std::string& format = quantization.checkpoint_format;
    const bool known = format.empty() || format == "gptq" || format == "gptq_v2";
    return known ? Status() : refuse("checkpoint_format", format, "gptq or gptq_v2");
  }
  if (method == "awq") {
    const bool known = quantization.version.empty() || is(quantization.version, "gemm");
    return known ? Status() : refuse("version", quantization.version, "gemm");
  }
  if (method == "compressed-tensors") {
    constexpr std::string_view kFormats[] = {"float-quantized", "int-quantized",        "naive-quantized",
                                             "pack-quantized",  "nvfp4-pack-quantized", "mxfp4-pack-quantized",
                                             "mixed-precision"};  // the last: each group has a format of its own
    const auto check = [&](const std::string& format) -> Status {
      const bool known = std::ranges::find(kFormats, format) != std::end(kFormats);
      return known ? Status() : refuse("format", format, fmt::format("{}", fmt::join(kFormats, ", ")));
    };
    if (auto checked = check(quantization.format); !checked) return checked;
    for (const formats::HfQuantGroup& group : quantization.groups) {
      if (group.type.empty()) continue;
      const std::string& format = group.format.empty() ? quantization.format : group.format;
      if (auto checked = check(format); !checked) return checked;
      if (format == "pack-quantized" && group.bits != 2 && group.bits != 4 && group.bits != 8)
        return refuse("num_bits", fmt::format("{}", group.bits), "2, 4 or 8");
    }
    if (quantization.rotates_activations) return refuse("transform_config", "of activations", "one of weights");
    return {};
  }
  if (method == "modelopt") {
    constexpr std::string_view kAlgorithms[] = {"NVFP4", "W4A16_NVFP4", "FP8", "FP8_PER_CHANNEL_PER_TOKEN",
                                                "MIXED_PRECISION"};  // the last: of the others
    const bool known = std::ranges::find(kAlgorithms, quantization.algorithm) != std::end(kAlgorithms);
    return known ? Status()
                 : refuse("quant_algo", quantization.algorithm, fmt::format("{}", fmt::join(kAlgorithms, ", ")));
  }
  if (method == "mlx") {
    const auto check = [&](const formats::HfMlxLayout& form) {
      const bool known = form.mode == "affine" || form.mode == "mxfp4";
      return known ? Status() : refuse("mode", form.mode, "affine or mxfp4");
    };
    if (auto checked = check(quantization.mlx); !checked) return checked;
    for (const auto& [name, form] : quantization.mlx_layers) {
      if (auto checked = check(form); !checked) return checked;
    }
    return {};
  }
  if (method == "fp8" || method == "fbgemm_fp8" || method == "mxfp4") return {};
  return Fail(ErrorCode::kUnsupported,
              "{}: a checkpoint quantised by '{}' cannot be read; gptq, awq, fp8, fbgemm_fp8, "
              "mxfp4, mlx, compressed-tensors and modelopt can; use the model's original weights, or a GGUF file of it",
              source, method);
}

}  // namespace

std::span<const HfFamily> HfFamilies() { return kHfFamilies; }

uint32_t UnusedPositions(const formats::HfConfig& config, const HfFamily& family) {
  constexpr TokenId kPadding = 1;  // RoBERTa's, where the file does not say
  if (!family.unused_positions) return 0;
  return static_cast<uint32_t>(std::clamp(config.pad.value_or(kPadding), 0, 1 << 24)) + 1;
}

Result<const HfFamily*> FindHfFamily(const formats::HfConfig& config) {
  const std::string& source = config.raw.source();
  if (config.quantization) {
    if (auto checked = CheckQuantization(*config.quantization, source); !checked) return Forward(checked);
  }
  std::vector<std::string_view> known;
  for (const HfFamily& family : kHfFamilies) {
    known.push_back(family.model_type);
    if (family.model_type != config.model_type) continue;
    if (config.hidden_act && *config.hidden_act != family.activation) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: model_type '{}' with the activation '{}' is not supported, only with "
                  "'{}'",
                  source, config.model_type, *config.hidden_act, family.activation);
    }
    return &family;
  }
  return Fail(ErrorCode::kUnsupported, "{}: model_type '{}' is not supported; supported are: {}", source,
              config.model_type, fmt::join(known, ", "));
}

}  // namespace inferflux::model
