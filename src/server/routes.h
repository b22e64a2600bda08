// Every path that the server answers.
#pragma once

#include <string_view>

#include "net/router.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Router MakeRoutes(Services& services);

// The error in the shape of the API that the target belongs to, by the longest path that it begins with; OpenAI's where
// it belongs to none.
net::Response RefusalAt(std::string_view target, const ApiError& error);

}  // namespace inferflux::server
