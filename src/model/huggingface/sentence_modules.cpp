#include "model/huggingface/sentence_modules.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "formats/json/json_object.h"
#include "model/families/read_head.h"
#include "model/huggingface/classifier.h"

namespace inferflux::model {
namespace {

using formats::JsonObject;

// llama.cpp's pooling kind for each switch of a pooling module; 0: none.
constexpr std::pair<std::string_view, uint32_t> kSwitches[] = {
    {"pooling_mode_mean_tokens", 1},
    {"pooling_mode_cls_token", 2},
    {"pooling_mode_lasttoken", 3},
    {"pooling_mode_max_tokens", 0},
    {"pooling_mode_mean_sqrt_len_tokens", 0},
    {"pooling_mode_weightedmean_tokens", 0},
};

Result<uint32_t> ReadPoolingKind(const std::filesystem::path& file) {
  const auto config = JsonObject::ReadFile(file.string());
  if (!config) return Forward(config);
  std::optional<uint32_t> kind;
  for (const auto& [name, number] : kSwitches) {
    const auto on = config->GetOr<bool>(name, false);
    if (!on) return Forward(on);
    if (!*on) continue;
    if (number == 0 || kind) {
      return Fail(ErrorCode::kUnsupported, "{}: {}{} is not supported; one of mean, cls and lasttoken is",
                  file.string(), name, kind ? " besides another" : "");
    }
    kind = number;
  }
  if (!kind) return Fail(ErrorCode::kUnsupported, "{}: it names no supported pooling", file.string());
  return *kind;
}

Result<std::filesystem::path> FolderOf(const JsonObject& module, const std::string& directory) {
  const auto path = module.GetOr<std::string>("path", "");
  if (!path) return Forward(path);
  const std::filesystem::path relative(*path);
  for (const auto& part : relative) {
    if (part == ".." || relative.is_absolute()) {
      return Fail(ErrorCode::kDataLoss, "{}: the path '{}' leads out of the directory", module.source(), *path);
    }
  }
  return std::filesystem::path(directory) / relative;
}

// A module that is applied to a model's hidden states, in order.
struct Module {
  std::string name;  // "Pooling"
  std::filesystem::path folder;
};

// Those of modules.json; none if there is no such file, or if the directory holds a classifier.
Result<std::vector<Module>> ReadModules(const std::string& directory, const formats::HfConfig& config) {
  std::vector<Module> out;
  const std::filesystem::path path = std::filesystem::path(directory) / "modules.json";
  std::error_code ignored;
  if (IsClassifier(config) || !std::filesystem::exists(path, ignored)) return out;
  const auto file = MappedFile::Open(path.string());
  if (!file) return Forward(file);
  const auto bytes = (*file)->bytes();
  const auto json = formats::ParseJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  if (!json) return Forward(json);
  const auto modules = formats::JsonAs<std::vector<JsonObject>>(*json, path.string());
  if (!modules) return Forward(modules);
  for (const JsonObject& module : *modules) {
    const auto type = module.Get<std::string>("type");
    if (!type) return Forward(type);
    const std::string name = type->substr(type->rfind('.') + 1);
    if (name != "Transformer" && name != "Pooling" && name != "Dense" && name != "Normalize") {
      return Fail(ErrorCode::kUnsupported,
                  "{}: the module '{}' is not supported; Transformer, Pooling, Dense and Normalize are", path.string(),
                  *type);
    }
    auto folder = FolderOf(module, directory);
    if (!folder) return Forward(folder);
    out.push_back({name, std::move(*folder)});
  }
  return out;
}

// The tensors' name of the dense layer with this number, as llama.cpp numbers them.
std::string DenseName(size_t index) { return "dense_" + std::to_string(index + 2); }

// What follows a dense layer, in our own words.
Result<std::string> DenseActivation(const std::filesystem::path& folder) {
  const auto config = JsonObject::ReadFile((folder / "config.json").string());
  if (!config) return Forward(config);
  const auto function = config->GetOr<std::string>("activation_function", "torch.nn.modules.activation.Tanh");
  if (!function) return Forward(function);
  const std::string_view name = std::string_view(*function).substr(function->rfind('.') + 1);
  if (name == "Identity") return std::string("none");
  if (name == "Tanh") return std::string("tanh");
  return Fail(ErrorCode::kUnsupported, "{}: activation_function '{}' is not supported; Identity and Tanh are",
              config->source(), *function);
}

}  // namespace

Status WriteSentenceModules(const std::string& directory, const formats::HfConfig& config, const std::string& prefix,
                            formats::GgufMetadataBuilder& metadata) {
  const auto modules = ReadModules(directory, config);
  if (!modules) return Forward(modules);
  bool normalises = false;
  size_t dense = 0;
  for (const Module& module : *modules) {
    normalises = normalises || module.name == "Normalize";
    if (module.name == "Pooling") {
      const auto kind = ReadPoolingKind(module.folder / "config.json");
      if (!kind) return Forward(kind);
      metadata.Set<uint32_t>(prefix + "pooling_type", *kind);
    } else if (module.name == "Dense") {
      const auto activation = DenseActivation(module.folder);
      if (!activation) return Forward(activation);
      if (*activation != "none") metadata.Set(std::string(kDenseActivationKey) + DenseName(dense), *activation);
      ++dense;
    }
  }
  if (!modules->empty() && !normalises) metadata.Set(prefix + "pooling_normalize", false);
  return {};
}

Result<std::vector<formats::SafetensorsModel>> OpenDenseModules(const std::string& directory,
                                                                const formats::HfConfig& config) {
  const auto modules = ReadModules(directory, config);
  if (!modules) return Forward(modules);
  std::vector<formats::SafetensorsModel> out;
  for (const Module& module : *modules) {
    if (module.name != "Dense") continue;
    if (out.size() == kMostDenseLayers) {
      return Fail(ErrorCode::kUnsupported, "{}: more than {} dense modules are not supported", directory,
                  kMostDenseLayers);
    }
    auto opened = formats::SafetensorsModel::Open(module.folder.string());
    if (!opened) return Forward(opened);
    out.push_back(std::move(*opened));
  }
  return out;
}

Status PlanDenseModules(const std::vector<formats::SafetensorsModel>& modules, std::vector<TensorRecipe>* plan) {
  for (size_t i = 0; i < modules.size(); ++i) {
    for (const formats::SafetensorsTensor* tensor : modules[i].tensors()) {
      if (tensor->name != "linear.weight" && tensor->name != "linear.bias") {
        return Fail(ErrorCode::kUnsupported,
                    "tensor '{}' of a dense module is not supported; linear.weight and "
                    "linear.bias are",
                    tensor->name);
      }
      TensorRecipe recipe{
          .name = DenseName(i) + tensor->name.substr(tensor->name.rfind('.')), .parts = {}, .computed = {}};
      recipe.parts.push_back(std::make_shared<const StoredWeight>(tensor->name, *tensor));
      plan->push_back(std::move(recipe));
    }
  }
  return {};
}

}  // namespace inferflux::model
