// POST /v1/embeddings.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> Embed(Services& services, const Caller& caller, const net::Request& request,
                                   net::ResponseWriter& writer);

}  // namespace inferflux::server
