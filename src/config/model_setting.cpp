#include "config/model_setting.h"

#include <filesystem>
#include <set>
#include <utility>

namespace inferflux::config {

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
  if (out.path.empty()) return Fail(ErrorCode::kInvalidArgument, "{}: a model needs the path of its file", out.origin);
  return out;
}

Status CompleteModels(std::vector<ModelSetting>& models) {
  std::set<std::string> ids;
  const ModelSetting* chosen = nullptr;
  for (ModelSetting& model : models) {
    if (model.id.empty()) model.id = std::filesystem::path(model.path).stem().string();
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
