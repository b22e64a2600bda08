// POST /v1/messages/count_tokens: counts the tokens of a prompt, including its tools and template.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> CountTokens(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer);

}  // namespace inferflux::server
