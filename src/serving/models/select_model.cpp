#include "serving/models/select_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "serving/backends/target.h"

namespace inferflux::serving {
namespace {

using Model = std::shared_ptr<const ServedModel>;
using Why = NoSelection::Why;

std::optional<Feature> Missing(const ServedModel& model, std::span<const Feature> needs) {
  for (const Feature feature : needs) {
    if (!model.capabilities.Has(feature)) return feature;
  }
  return std::nullopt;
}

const Model* FindById(const RoutingTable& table, std::string_view id) {
  const auto found = std::ranges::find_if(table.models, [&](const Model& model) { return model->id == id; });
  return found == table.models.end() ? nullptr : &*found;
}

tl::unexpected<NoSelection> Unknown(const RoutingTable& table, std::string_view id) {
  std::vector<std::string_view> known;
  for (const Model& model : table.models) known.push_back(model->id);
  NoSelection out;
  out.why = Why::kUnknownModel;
  out.message = fmt::format("there is no model '{}'; this server has: {}", id, fmt::join(known, ", "));
  return tl::make_unexpected(std::move(out));
}

// What the user can do instead.
std::string_view WayOut(const ServedModel& model, Feature feature) {
  switch (feature) {
    case Feature::kChat:
      if (model.capabilities.completions) return " (it has no chat template; use /v1/completions)";
      [[fallthrough]];
    case Feature::kCompletions:
      if (model.capabilities.scores) return " (it is a classifier; use /v1/rerank, /score or /classify)";
      return " (it is an encoder; use /v1/embeddings)";
    case Feature::kScores:
      return " (it has no classification head; rerank with a model that has one, such as a cross-encoder)";
    default:
      return " (GET /v1/models says what each model can do)";
  }
}

tl::unexpected<NoSelection> Lacks(const Model& model, Feature feature, std::string_view remedy) {
  NoSelection out;
  out.why = Why::kMissingCapability;
  out.message = fmt::format("the model '{}' on {} cannot do {}{}{}", model->id, model->exposure.exposed_backend,
                            FeatureName(feature), WayOut(*model, feature), remedy);
  out.model = model;
  out.feature = feature;
  return tl::make_unexpected(std::move(out));
}

// Best first: device rank, native before fallback, then id.
auto Preference(const Model& model) {
  const auto target = ParseTarget(model->exposure.exposed_backend);
  const int rank = target ? Traits(target->target).device_rank : 0;
  return std::tuple(-rank, model->exposure.provider != "native", model->id);
}

}  // namespace

tl::expected<Selection, NoSelection> SelectModelForRequest(const RoutingTable& table, std::string_view id,
                                                           std::span<const Feature> needs,
                                                           const RoutingPolicy& policy) {
  const bool default_route = id.empty() || id == "default";
  if (table.models.empty()) return tl::make_unexpected(NoSelection{Why::kNoModel, "no model is loaded", nullptr, {}});
  const Model* wanted = FindById(table, default_route ? std::string_view(table.default_id) : id);
  if (wanted == nullptr) return Unknown(table, id);
  const std::optional<Feature> missing = Missing(**wanted, needs);
  if (!missing) return Selection{*wanted, nullptr, std::nullopt};
  if (!default_route) return Lacks(*wanted, *missing, "");
  if (!policy.allow_default_fallback) {
    return Lacks(*wanted, *missing, ", and runtime.capability_routing.allow_default_fallback is off");
  }

  const auto in_scope = [&](const std::string& path) {
    return policy.fallback_scope == FallbackScope::kAnyCompatible || path == (*wanted)->info.path;
  };
  const Model* best = nullptr;
  for (const Model& model : table.models) {
    if (!in_scope(model->info.path) || Missing(*model, needs)) continue;
    if (best == nullptr || Preference(model) < Preference(*best)) best = &model;
  }
  if (best != nullptr) return Selection{*best, *wanted, missing};
  const bool coming = std::ranges::any_of(table.coming, [&](const ComingModel& other) { return in_scope(other.path); });
  if (coming && !policy.require_ready_backend) {
    return tl::make_unexpected(
        NoSelection{Why::kNotReady, fmt::format("a model that may do {} is still being loaded", FeatureName(*missing)),
                    *wanted, missing});
  }
  return Lacks(*wanted, *missing,
               policy.fallback_scope == FallbackScope::kSamePathOnly
                   ? ", and no other backend of the same file can (runtime.capability_routing.fallback_scope)"
                   : ", and no other loaded model can");
}

}  // namespace inferflux::serving
