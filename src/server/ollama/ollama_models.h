// The models in Ollama's API: /api/tags, /api/ps, /api/show, /api/version, and what this server does not do.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response OllamaTags(Services& services, const net::Request& request);
net::Response OllamaRunning(Services& services, const net::Request& request);
net::Response OllamaShow(Services& services, const net::Request& request);
net::Response OllamaVersion(Services& services, const net::Request& request);

// /api/pull and /api/push: this server downloads and uploads nothing.
net::Response RefuseTransfer(Services& services, const net::Request& request);
// /api/create, /api/copy and /api/delete.
net::Response RefuseChange(Services& services, const net::Request& request);

}  // namespace inferflux::server
