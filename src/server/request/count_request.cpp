#include "server/request/count_request.h"

namespace inferflux::server {

void CountRequest(metrics::Registry& metrics, const std::string& endpoint, const serving::ServedModel* model,
                  const std::string& outcome) {
  metrics
      .GetCounter("inferflux_requests_total", "Generation requests by model, backend, endpoint and outcome.",
                  {{"model", model == nullptr ? "none" : model->id},
                   {"backend", model == nullptr ? "none" : model->exposure.exposed_backend},
                   {"endpoint", endpoint},
                   {"outcome", outcome}})
      .Add();
}

}  // namespace inferflux::server
