// The models in Ollama's API: /api/tags, /api/ps, /api/show, /api/version, and what this server does not do.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response OllamaTags(Services& services, const net::Request& request);
net::Response OllamaRunning(Services& services, const net::Request& request);
// Loads the model on its first use, as a generation does.
boost::asio::awaitable<void> OllamaShow(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);
net::Response OllamaVersion(Services& services, const net::Request& request);

// /api/pull and /api/push: this server downloads and uploads nothing.
net::Response RefuseTransfer(Services& services, const net::Request& request);

}  // namespace inferflux::server
