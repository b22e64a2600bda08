#include "routing/model_registry.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace inferflux::routing {
namespace {

constexpr std::string_view kDefaultRoute = "default";

}  // namespace

Status ModelRegistry::Add(std::shared_ptr<const ServedModel> model, bool is_default) {
  if (model->id.empty() || model->id == kDefaultRoute) {
    return Fail(ErrorCode::kInvalidArgument, "a model cannot have the id '{}': it names the default route", model->id);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& existing : models_) {
    if (existing->id == model->id) {
      return Fail(ErrorCode::kInvalidArgument, "two models have the id '{}': give one of them another", model->id);
    }
  }
  if (is_default) default_ = models_.size();
  models_.push_back(std::move(model));
  return {};
}

Result<std::shared_ptr<const ServedModel>> ModelRegistry::Find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  if (models_.empty()) return Fail(ErrorCode::kUnavailable, "no model is loaded");
  if (id.empty() || id == kDefaultRoute) return models_[default_];
  for (const auto& model : models_) {
    if (model->id == id) return model;
  }
  std::vector<std::string_view> known;
  std::transform(models_.begin(), models_.end(), std::back_inserter(known),
                 [](const auto& model) -> std::string_view { return model->id; });
  return Fail(ErrorCode::kNotFound, "there is no model '{}'; this server has: {}", id, fmt::join(known, ", "));
}

std::vector<std::shared_ptr<const ServedModel>> ModelRegistry::List() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

}  // namespace inferflux::routing
