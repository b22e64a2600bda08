// What a pool knows of its models, and which one a request gets.
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "serving/pool/model_pool.h"

namespace inferflux::serving {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRetryFailed{30};
constexpr size_t kMaxNamed = 20;  // models in a message

bool IsDefaultRoute(std::string_view id) { return id.empty() || id == "default"; }

}  // namespace

void ModelPool::RecordFailure(const LoadRequest& request, const Error& error) {
  const std::lock_guard lock(mutex_);
  std::erase_if(failed_, [&](const FailedModel& model) { return model.id == request.id; });
  failed_.push_back({request.id, request.path, request.requested_backend, error.message});
}

std::vector<FailedModel> ModelPool::Failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::vector<LoadingModel> ModelPool::Loading() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoadingModel> out;
  for (const Running& running : loading_) {
    out.push_back({.id = running.request.id,
                   .path = running.request.path,
                   .requested_backend = running.request.requested_backend,
                   .progress = running.progress->Read(),
                   .seconds = std::chrono::duration<double>(Clock::now() - running.began).count()});
  }
  return out;
}

std::vector<UnloadedModel> ModelPool::Unloaded() const {
  using State = UnloadedModel::State;
  const auto available = options_.directory ? options_.directory->List() : std::vector<AvailableModel>();
  std::map<std::string, UnloadedModel> out;  // the last entry of an id is the one that holds
  const std::lock_guard lock(mutex_);
  for (const AvailableModel& model : available) out[model.name] = {model.name, model.path};
  for (const auto& [id, request] : offers_) out[id] = {id, request.path};
  for (const FailedModel& model : failed_) out[model.id] = {model.id, model.path, State::kFailed, model.error};
  for (const Running& running : loading_) {
    out[running.request.id] = {running.request.id, running.request.path, State::kLoading};
  }
  for (const auto& model : registry_.List()) out.erase(model->id);
  for (auto& [id, model] : out) model.withdrawn = withdrawn_.contains(id);
  const auto models = out | std::views::values;
  return {models.begin(), models.end()};
}

std::string ModelPool::Loadable() const {
  std::vector<std::string> names;
  for (const UnloadedModel& model : Unloaded()) names.push_back(model.id);
  const size_t more = names.size() > kMaxNamed ? names.size() - kMaxNamed : 0;
  names.resize(names.size() - more);
  if (names.empty()) {
    return options_.directory ? "none (the directory is " + options_.directory->path() + ")"
                              : "none (there is no models directory)";
  }
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string ModelPool::WhatThereIs() const {
  std::vector<std::string> loaded;
  for (const auto& model : List()) loaded.push_back(model->id);
  return fmt::format("loaded: {}; can be loaded: {}",
                     loaded.empty() ? "none" : fmt::format("{}", fmt::join(loaded, ", ")), Loadable());
}

ModelPool::Loaded ModelPool::FindLocked(std::string_view name) const {
  auto found = registry_.Find(name);
  if (!found) return Forward(found);
  return LendLocked(std::move(*found));
}

std::shared_ptr<const ServedModel> ModelPool::LendLocked(std::shared_ptr<const ServedModel> model) const {
  const auto resident = residents_.find(model->id);
  return resident == residents_.end() ? model : ModelUse::Lend(resident->second.use, std::move(model));
}

RoutingPolicy ModelPool::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

void ModelPool::SetPolicy(const RoutingPolicy& policy) {
  const std::lock_guard lock(mutex_);
  policy_ = policy;
}

ModelPool::Selected ModelPool::Select(std::string_view id, std::span<const Feature> needs) const {
  using Why = NoSelection::Why;
  tl::expected<Selection, NoSelection> selected;
  std::shared_ptr<const ServedModel> lent;
  {
    const std::lock_guard lock(mutex_);
    RoutingTable table{registry_.List(), registry_.default_id(), {}};
    for (const Running& load : loading_) table.coming.push_back({load.request.id, load.request.path});
    selected = SelectModelForRequest(table, id, needs, policy_);
    if (selected) lent = LendLocked(selected->model);
  }
  metrics_.CountSelection(selected);
  if (selected) return lent;
  NoSelection& refused = selected.error();
  if (refused.why != Why::kNoModel && refused.why != Why::kUnknownModel) return tl::make_unexpected(std::move(refused));
  if (!IsDefaultRoute(id)) return tl::make_unexpected(WhyUnloaded(std::string(id), std::move(refused)));
  if (options_.directory || !Unloaded().empty()) refused.message += "; name one that can be loaded: " + Loadable();
  return tl::make_unexpected(std::move(refused));
}

// Why the model of this id does not serve. `refused` is the answer if it cannot be loaded either.
NoSelection ModelPool::WhyUnloaded(const std::string& id, NoSelection refused) const {
  using Why = NoSelection::Why;
  std::optional<FailedModel> failed;
  {
    const std::lock_guard lock(mutex_);
    for (const Running& load : loading_) {
      if (load.request.id == id) return {Why::kNotLoaded, fmt::format("the model '{}' is being loaded", id), {}, {}};
    }
    const auto found = std::ranges::find(failed_, id, &FailedModel::id);
    if (found != failed_.end()) failed = *found;
  }
  const auto request = RequestFor(id);
  if (failed && (!request || Clock::now() - failed->when < kRetryFailed)) {
    return {Why::kFailed, fmt::format("the model '{}' failed to load: {}", id, failed->error), {}, {}};
  }
  if (request) return {Why::kNotLoaded, fmt::format("the model '{}' is not loaded", id), {}, {}};
  if (options_.directory) return {Why::kUnknownModel, request.error().message, {}, {}};
  return refused;
}

}  // namespace inferflux::serving
