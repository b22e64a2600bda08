// GET /v1/models and /v1/models/{id}.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response ListModels(Services& services, const net::Request& request);
net::Response DescribeModel(Services& services, const net::Request& request);

}  // namespace inferflux::server
