#include "serving/pool/pool_metrics.h"

namespace inferflux::serving {

void PoolMetrics::CountLoaded(const ServedModel& model, double seconds) const {
  const BackendExposure& exposure = model.exposure;
  registry_
      .GetCounter("inferflux_backend_exposures_total", "Models loaded, by requested and exposed backend.",
                  {{"requested_backend", exposure.normalised_request},
                   {"exposed_backend", exposure.exposed_backend},
                   {"provider", exposure.provider},
                   {"fallback", exposure.fallback ? "true" : "false"}})
      .Add();
  registry_
      .GetGauge("inferflux_model_load_seconds", "How long the model's last load took, failed tries included.",
                {{"model", model.id}, {"backend", exposure.exposed_backend}})
      .Set(seconds);
  registry_.GetGauge("inferflux_model_ready", "1 where the model serves.", {{"model", model.id}}).Set(1);
  CountEvent("loaded");
}

void PoolMetrics::CountEvent(const std::string& event) const {
  registry_
      .GetCounter("inferflux_model_load_events_total", "Loads, failures to load and unloads of models.",
                  {{"event", event}})
      .Add();
}

void PoolMetrics::CountEviction(const std::string& reason) const {
  registry_
      .GetCounter("inferflux_model_evictions_total",
                  "Idle models unloaded because another one needed their memory, or at the end of their keep-alive.",
                  {{"reason", reason}})
      .Add();
  CountEvent("unloaded");
}

void PoolMetrics::CountFirstUse() const {
  registry_.GetCounter("inferflux_model_first_use_loads_total", "Loads that a model's first use began.").Add();
}

void PoolMetrics::SetUse(const PoolUse& use) const {
  registry_.GetGauge("inferflux_pool_budget_bytes", "Host memory that all models may hold together.")
      .Set(static_cast<double>(use.budget));
  registry_.GetGauge("inferflux_pool_used_bytes", "Host memory that the models hold: weights and KV.")
      .Set(static_cast<double>(use.used));
}

void PoolMetrics::CountSelection(const tl::expected<Selection, NoSelection>& selected) const {
  if (!selected) {
    const NoSelection& refused = selected.error();
    if (refused.why != NoSelection::Why::kMissingCapability) return;
    registry_
        .GetCounter("inferflux_capability_rejections_total", "Requests that the model's backend cannot serve.",
                    {{"backend", refused.model->exposure.exposed_backend},
                     {"feature", std::string(FeatureName(*refused.feature))}})
        .Add();
    return;
  }
  if (!selected->instead_of) return;
  registry_
      .GetCounter("inferflux_capability_route_fallbacks_total",
                  "Requests on the default route that went to another backend, by what the first one lacks.",
                  {{"from_backend", selected->instead_of->exposure.exposed_backend},
                   {"to_backend", selected->model->exposure.exposed_backend},
                   {"feature", std::string(FeatureName(*selected->feature))}})
      .Add();
}

}  // namespace inferflux::serving
