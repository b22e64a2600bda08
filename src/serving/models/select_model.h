// Which loaded model a request goes to, by what it needs. The one place that decides it.
//
// An id that the request names is that very model or an error. Only the default route may switch, to another model that
// can do what the default one cannot.
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
  kAnyCompatible,  // any model that can
};

// runtime.capability_routing
struct RoutingPolicy {
  bool allow_default_fallback = true;
  bool require_ready_backend = true;  // false: one that is still being loaded is worth waiting for (503, try again)
  FallbackScope fallback_scope = FallbackScope::kSamePathOnly;
};

// A model that is being loaded: what it can do is not known yet.
struct ComingModel {
  std::string id;
  std::string path;
};

// What there is to choose from, at one moment.
struct RoutingTable {
  std::vector<std::shared_ptr<const ServedModel>> models;
  std::string default_id;
  std::vector<ComingModel> coming;
};

struct Selection {
  std::shared_ptr<const ServedModel> model;
  std::shared_ptr<const ServedModel> instead_of;  // null where nothing was switched
  std::optional<Feature> feature;                 // what the one instead of which this is lacks
};

// Why no model was selected.
struct NoSelection {
  enum class Why { kNoModel, kUnknownModel, kMissingCapability, kNotReady };
  Why why = Why::kNoModel;
  std::string message;
  std::shared_ptr<const ServedModel> model;  // the one that lacks the feature
  std::optional<Feature> feature;
};

// `id` empty or "default" is the default route.
tl::expected<Selection, NoSelection> SelectModelForRequest(const RoutingTable& table, std::string_view id,
                                                           std::span<const Feature> needs, const RoutingPolicy& policy);

}  // namespace inferflux::serving
