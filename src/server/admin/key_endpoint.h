// GET /v1/key: whether the server needs keys, and what the caller's key allows. 401 for a key that is unknown here.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response DescribeKey(Services& services, const net::Request& request);

}  // namespace inferflux::server
