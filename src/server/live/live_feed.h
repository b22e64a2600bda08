// GET /v1/live: the server's figures as server-sent events, one a second.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

// Ends when the client goes or the server begins to stop.
boost::asio::awaitable<void> StreamLiveFigures(Services& services, const net::Request& request,
                                               net::ResponseWriter& writer);

}  // namespace inferflux::server
