// GET /v1/admin/cache and /v1/admin/pools: the current cache contents and load of the models.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response DescribeCaches(Services& services, const net::Request& request);
net::Response DescribePools(Services& services, const net::Request& request);

}  // namespace inferflux::server
