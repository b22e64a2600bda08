#include "model/huggingface/sentence_modules.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "formats/json/json_object.h"

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

}  // namespace

Status WriteSentenceModules(const std::string& directory, const std::string& prefix,
                            formats::GgufMetadataBuilder& metadata) {
  const std::filesystem::path path = std::filesystem::path(directory) / "modules.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto file = MappedFile::Open(path.string());
  if (!file) return Forward(file);
  const auto bytes = (*file)->bytes();
  const auto json = formats::ParseJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  if (!json) return Forward(json);
  const auto modules = formats::JsonAs<std::vector<JsonObject>>(*json, path.string());
  if (!modules) return Forward(modules);
  bool normalises = false;
  for (const JsonObject& module : *modules) {
    auto type = module.Get<std::string>("type");
    if (!type) return Forward(type);
    const std::string_view name = std::string_view(*type).substr(type->rfind('.') + 1);
    if (name == "Normalize") {
      normalises = true;
    } else if (name == "Pooling") {
      const auto folder = FolderOf(module, directory);
      if (!folder) return Forward(folder);
      const auto kind = ReadPoolingKind(*folder / "config.json");
      if (!kind) return Forward(kind);
      metadata.Set<uint32_t>(prefix + "pooling_type", *kind);
    } else if (name != "Transformer") {
      return Fail(ErrorCode::kUnsupported,
                  "{}: the module '{}' is not supported; Transformer, Pooling and Normalize are", path.string(), *type);
    }
  }
  if (!normalises) metadata.Set(prefix + "pooling_normalize", false);
  return {};
}

}  // namespace inferflux::model
