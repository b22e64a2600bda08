// POST /v1/responses: whole, as a stream, or in the background.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> CreateResponse(Services& services, const Caller& caller, const net::Request& request,
                                            net::ResponseWriter& writer);

}  // namespace inferflux::server
