// The metrics of a pool of models.
#pragma once

#include <string>

#include "metrics/registry.h"
#include "serving/models/select_model.h"
#include "serving/models/served_model.h"
#include "serving/pool/pool_budget.h"

namespace inferflux::serving {

class PoolMetrics {
 public:
  explicit PoolMetrics(metrics::Registry& registry) : registry_(registry) {}

  metrics::Registry& registry() const { return registry_; }
  void CountLoaded(const ServedModel& model, double seconds) const;
  void CountEvent(const std::string& event) const;      // "loaded", "failed", "unloaded"
  void CountEviction(const std::string& reason) const;  // "memory", "idle"
  void CountFirstUse() const;
  void SetUse(const PoolUse& use) const;
  void CountSelection(const tl::expected<Selection, NoSelection>& selected) const;

 private:
  metrics::Registry& registry_;
};

}  // namespace inferflux::serving
