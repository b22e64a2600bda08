// GET /v1/admin/cache, /v1/admin/pools and /v1/admin/memory: the cache contents and load of the models, and the memory
// that they hold beside the machine's.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response DescribeCaches(Services& services, const net::Request& request);
net::Response DescribePools(Services& services, const net::Request& request);
net::Response DescribeMemory(Services& services, const net::Request& request);

}  // namespace inferflux::server
