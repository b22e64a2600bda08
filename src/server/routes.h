// All paths of the server.
#pragma once

#include <string_view>

#include "net/router.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Router MakeRoutes(Services& services);

// Formats an error for the API that owns the target, found by the longest path that the target begins with. OpenAI's
// format if no API owns it.
net::Response RefusalAt(std::string_view target, const ApiError& error);

}  // namespace inferflux::server
