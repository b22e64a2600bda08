// The loaded model that a request goes to.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "routing/capabilities.h"
#include "routing/served_model.h"
#include "server/api_error.h"
#include "server/services.h"

namespace inferflux::server {

// An empty id is the default route. 404 where there is no such model, 422 where it cannot do all of `needs` (the message
// names what), 503 while models are still being loaded.
ApiResult<std::shared_ptr<const routing::ServedModel>> FindModel(const Services& services, const std::string& id,
                                                                 std::span<const routing::Feature> needs);

}  // namespace inferflux::server
