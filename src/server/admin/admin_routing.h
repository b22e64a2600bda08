// GET and PUT /v1/admin/routing: how requests on the default route find a model that can do what they ask.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response DescribeRouting(Services& services, const net::Request& request);
// What the body leaves out stays as it is.
net::Response SetRouting(Services& services, const net::Request& request);

}  // namespace inferflux::server
