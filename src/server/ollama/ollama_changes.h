// Ollama's POST /api/create and /api/copy, and DELETE /api/delete: they write and delete recipes in the models
// directory, and nothing else.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

boost::asio::awaitable<void> CreateOllamaModel(Services& services, const net::Request& request,
                                               net::ResponseWriter& writer);
boost::asio::awaitable<void> CopyOllamaModel(Services& services, const net::Request& request,
                                             net::ResponseWriter& writer);
boost::asio::awaitable<void> DeleteOllamaModel(Services& services, const net::Request& request,
                                               net::ResponseWriter& writer);

}  // namespace inferflux::server
