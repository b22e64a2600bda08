// GET /v1/requests and /v1/requests/{id}: the last requests that ended, and what happened to one of them. A key sees
// its own requests, a key with the scope `admin` all. They hold no text.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> ListRequests(Services& services, const Caller& caller, const net::Request& request,
                                          net::ResponseWriter& writer);
boost::asio::awaitable<void> DescribeRequest(Services& services, const Caller& caller, const net::Request& request,
                                             net::ResponseWriter& writer);

}  // namespace inferflux::server
