// GET and PUT /v1/admin/routing: how requests on the default route find a model with the features that they need.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response DescribeRouting(Services& services, const net::Request& request);
// Fields that the body omits keep their values.
net::Response SetRouting(Services& services, const net::Request& request);

}  // namespace inferflux::server
