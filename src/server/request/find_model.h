// The loaded model that a request goes to.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "server/request/api_error.h"
#include "server/request/services.h"
#include "serving/backends/capabilities.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

// An empty id is the default route. 404 where there is no such model, 422 where it cannot do all of `needs` (the
// message names what), 503 while models are still being loaded.
ApiResult<std::shared_ptr<const serving::ServedModel>> FindModel(const Services& services, const std::string& id,
                                                                 std::span<const serving::Feature> needs);

}  // namespace inferflux::server
