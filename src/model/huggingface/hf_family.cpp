#include "model/huggingface/hf_family.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "model/families/other_models.h"
#include "model/families/vision/text_parts.h"
#include "model/huggingface/classifier.h"
#include "model/huggingface/keys/config_keys.h"

namespace inferflux::model {
namespace {

// The quantisations that CollectWeights supports, each with its supported formats.
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
                                             "mixed-precision"};  // the last: each group has its own format
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
                                                "MIXED_PRECISION"};  // the last: a mix of the others
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

Result<HfFamily> FindFamily(const std::string& model_type, const formats::JsonObject& root) {
  const std::string& source = root.source();
  std::vector<std::string_view> known;
  const Family* found_in = nullptr;
  const Checkpoint* found = nullptr;
  for (const Family* family : Families()) {
    for (const Checkpoint& checkpoint : family->checkpoints) {
      const auto& types = checkpoint.model_types;
      for (const std::string_view type : types) {
        if (std::ranges::find(known, type) == known.end()) known.push_back(type);
      }
      if (std::find(types.begin(), types.end(), model_type) == types.end()) continue;
      if (checkpoint.applies != nullptr) {
        const auto applies = checkpoint.applies(root);
        if (!applies) return Forward(applies);
        if (*applies) return HfFamily{family->architecture, checkpoint};
      } else if (!checkpoint.flag.empty()) {
        const auto set = root.GetOr<bool>(checkpoint.flag, false);
        if (!set) return Forward(set);
        if (*set) return HfFamily{family->architecture, checkpoint};
      } else if (found == nullptr) {
        found_in = family;
        found = &checkpoint;
      }
    }
  }
  if (found != nullptr) return HfFamily{found_in->architecture, *found};
  return Fail(ErrorCode::kUnsupported, "{}: model_type '{}' is not supported; supported are: {}{}", source, model_type,
              fmt::join(known, ", "), DirectoryAdvice(model_type));
}

}  // namespace

uint32_t UnusedPositions(const formats::HfConfig& config, const Checkpoint& checkpoint) {
  constexpr TokenId kPadding = 1;  // if the file gives none
  if (!checkpoint.unused_positions) return 0;
  return static_cast<uint32_t>(std::clamp(config.pad.value_or(kPadding), 0, 1 << 24)) + 1;
}

Result<HfDirectory> ReadHfDirectory(const std::string& path) {
  auto root = formats::JsonObject::ReadFile((std::filesystem::path(path) / "config.json").string());
  if (!root) return Forward(root);
  const std::string source = root->source();
  const auto type = TextModelType(*root);
  if (!type) return Forward(type);
  const auto family = FindFamily(*type, *root);
  if (!family) return Forward(family);
  auto keys = ApplyConfigKeys(*root, *type, family->checkpoint);
  if (!keys) return Forward(keys);
  auto config = formats::ParseHfConfig(std::move(*keys), family->checkpoint.attention);
  if (!config) return Forward(config);
  // Old files have the text's keys beside vision_config.
  config->several_parts = config->several_parts || root->FindValue("vision_config") != nullptr;
  if (config->quantization) {
    if (auto checked = CheckQuantization(*config->quantization, source); !checked) return Forward(checked);
  }
  if (auto known = RefuseOtherHeads(*config); !known) return Forward(known);
  const Checkpoint& checkpoint = family->checkpoint;
  if (checkpoint.prepare != nullptr) {
    if (auto prepared = checkpoint.prepare(*config); !prepared) return Forward(prepared);
  }
  if (config->hidden_act && *config->hidden_act != checkpoint.activation) {
    return Fail(ErrorCode::kUnsupported,
                "{}: model_type '{}' with the activation '{}' is not supported, only with '{}'", source,
                config->model_type, *config->hidden_act, checkpoint.activation);
  }
  return HfDirectory{std::move(*config), *family};
}

}  // namespace inferflux::model
