// Finds the loaded model for a request.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "server/request/api_error.h"
#include "server/request/services.h"
#include "serving/backends/capabilities.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

// An empty id means the default route. 404 if there is no such model; 422 if it lacks a feature of `needs` (the message
// names it); 503 while models are still being loaded; 500 if its load failed. A model that is not loaded but can be is
// a 503 that names it in `load_first`: a caller that uses PrepareWithModel loads it. `timeout`: the request's own limit
// in seconds; 0: none.
ApiResult<std::shared_ptr<const serving::ServedModel>> FindModel(const Services& services, const std::string& id,
                                                                 std::span<const serving::Feature> needs,
                                                                 double timeout = 0);

}  // namespace inferflux::server
