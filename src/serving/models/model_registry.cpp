#include "serving/models/model_registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "unicode/utf8.h"

namespace inferflux::serving {
namespace {

constexpr std::string_view kDefaultRoute = "default";
constexpr size_t kMaxIdBytes = 256;

// An id is part of paths, logs and metrics.
Status CheckText(const std::string& id) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (id.size() <= kMaxIdBytes && unicode::IsValidUtf8(id) && std::ranges::none_of(id, control) &&
      !id.starts_with(' ') && !id.ends_with(' ')) {
    return {};
  }
  return Fail(ErrorCode::kInvalidArgument,
              "a model's id has 1 to {} bytes of UTF-8, without control characters and without a space at an end",
              kMaxIdBytes);
}

}  // namespace

Status ModelRegistry::CheckIdLocked(const std::string& id) const {
  if (id.empty() || id == kDefaultRoute) {
    return Fail(ErrorCode::kInvalidArgument, "a model cannot have the id '{}': it names the default route", id);
  }
  if (Status good = CheckText(id); !good) return good;
  if (!IndexOf(id)) return {};
  return Fail(ErrorCode::kInvalidArgument, "two models have the id '{}': give one of them another", id);
}

Result<size_t> ModelRegistry::IndexOf(std::string_view id) const {
  for (size_t i = 0; i < models_.size(); ++i) {
    if (models_[i]->id == id) return i;
  }
  std::vector<std::string_view> known;
  std::transform(models_.begin(), models_.end(), std::back_inserter(known),
                 [](const auto& model) -> std::string_view { return model->id; });
  return Fail(ErrorCode::kNotFound, "there is no model '{}'; this server has: {}", id, fmt::join(known, ", "));
}

Status ModelRegistry::CheckId(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return CheckIdLocked(id);
}

Status ModelRegistry::Add(std::shared_ptr<const ServedModel> model, bool is_default) {
  const std::lock_guard lock(mutex_);
  if (Status free = CheckIdLocked(model->id); !free) return free;
  if (is_default) default_ = models_.size();
  models_.push_back(std::move(model));
  return {};
}

Result<std::shared_ptr<const ServedModel>> ModelRegistry::Remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto index = IndexOf(id);
  if (!index) return Forward(index);
  auto removed = std::move(models_[*index]);
  models_.erase(models_.begin() + static_cast<ptrdiff_t>(*index));
  if (*index == default_) {
    default_ = 0;
  } else if (*index < default_) {
    --default_;
  }
  return removed;
}

Status ModelRegistry::SetDefault(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto index = IndexOf(id);
  if (!index) return Forward(index);
  default_ = *index;
  return {};
}

std::string ModelRegistry::default_id() const {
  const std::lock_guard lock(mutex_);
  return models_.empty() ? std::string() : models_[default_]->id;
}

Result<std::shared_ptr<const ServedModel>> ModelRegistry::Find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  if (models_.empty()) return Fail(ErrorCode::kUnavailable, "no model is loaded");
  if (id.empty() || id == kDefaultRoute) return models_[default_];
  return IndexOf(id).map([this](size_t index) { return models_[index]; });
}

std::vector<std::shared_ptr<const ServedModel>> ModelRegistry::List() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

}  // namespace inferflux::serving
