// Counts answered requests, for /metrics.
#pragma once

#include <string>

#include "metrics/registry.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

// `model` is null if the request was refused before a model was found.
void CountRequest(metrics::Registry& metrics, const std::string& endpoint, const serving::ServedModel* model,
                  const std::string& outcome);

}  // namespace inferflux::server
