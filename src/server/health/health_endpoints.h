// Liveness, readiness, description and metrics of the server.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response Livez(Services& services, const net::Request& request);    // 200 while the process answers
net::Response Healthz(Services& services, const net::Request& request);  // 200, with the loaded models
net::Response Readyz(Services& services, const net::Request& request);   // 200 once every model is loaded and warm
net::Response Metrics(Services& services, const net::Request& request);  // Prometheus' text format
net::Response Version(Services& services, const net::Request& request);

}  // namespace inferflux::server
