#include "config/model_setting.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "config/yaml_lists.h"

namespace inferflux::config {
std::string ModelIdOf(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path name = std::filesystem::absolute(path, ignored).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();  // "DIR/"
  // A dot in a directory's name, as in "Qwen2.5-0.5B", does not begin a suffix.
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

Result<ModelSetting> ParseModelSetting(std::string_view text, std::string origin) {
  ModelSetting out;
  out.origin = std::move(origin);
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos && text.find('/') > equals) {
    out.id = text.substr(0, equals);
    text.remove_prefix(equals + 1);
    if (out.id.empty()) return Fail(ErrorCode::kInvalidArgument, "{}: the id before '=' is empty", out.origin);
  }
  out.path = text;
  if (out.path.empty())
    return Fail(ErrorCode::kInvalidArgument, "{}: a model needs the path of its file or directory", out.origin);
  return out;
}

Result<std::vector<ModelSetting>> ParseModelList(std::string_view text, const std::string& origin) {
  if (text.starts_with('[')) return ParseModelMaps(std::string(text), origin);
  std::vector<ModelSetting> out;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    auto model = ParseModelSetting(entry, origin);
    if (!model) return Forward(model);
    out.push_back(std::move(*model));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
  }
  return out;
}

Status CompleteModels(std::vector<ModelSetting>& models) {
  std::set<std::string> ids;
  const ModelSetting* chosen = nullptr;
  for (ModelSetting& model : models) {
    if (model.id.empty()) model.id = ModelIdOf(model.path);
    if (!ids.insert(model.id).second) {
      return Fail(ErrorCode::kInvalidArgument, "{}: the model id '{}' is used twice; give one of them another id",
                  model.origin, model.id);
    }
    if (!model.is_default) continue;
    if (chosen != nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "{}: both '{}' and '{}' are the default model; only one can be",
                  model.origin, chosen->id, model.id);
    }
    chosen = &model;
  }
  return {};
}

}  // namespace inferflux::config
