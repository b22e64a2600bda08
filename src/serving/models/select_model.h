// Selects the loaded model for a request by the features that it needs. Only this file decides it.
//
// An id in the request means exactly that model, or an error. Only the default route may switch to another model, one
// that has the features that the default model lacks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "serving/backends/capabilities.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

enum class FallbackScope {
  kSamePathOnly,   // the same weights on another backend
  kAnyCompatible,  // any model with the features
};

// runtime.capability_routing
struct RoutingPolicy {
  bool allow_default_fallback = true;
  bool require_ready_backend = true;  // false: wait for a model that is still being loaded (503, retry)
  FallbackScope fallback_scope = FallbackScope::kSamePathOnly;
};

// A model that is being loaded; its features are not known yet.
struct ComingModel {
  std::string id;
  std::string path;
};

// A snapshot of the available models.
struct RoutingTable {
  std::vector<std::shared_ptr<const ServedModel>> models;
  std::string default_id;
  std::vector<ComingModel> coming;
};

struct Selection {
  std::shared_ptr<const ServedModel> model;
  std::shared_ptr<const ServedModel> instead_of;  // null if the route did not switch
  std::optional<Feature> feature;                 // the feature that `instead_of` lacks
};

// Why no model was selected.
struct NoSelection {
  enum class Why {
    kNoModel,
    kUnknownModel,
    kMissingCapability,
    kNotReady,
    kNotLoaded,  // a pool can load the model of this id
    kFailed,     // its load failed
  };
  Why why = Why::kNoModel;
  std::string message;
  std::shared_ptr<const ServedModel> model;  // the model that lacks the feature
  std::optional<Feature> feature;
};

// An empty `id` or "default" means the default route.
tl::expected<Selection, NoSelection> SelectModelForRequest(const RoutingTable& table, std::string_view id,
                                                           std::span<const Feature> needs, const RoutingPolicy& policy);

}  // namespace inferflux::serving
