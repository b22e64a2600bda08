// Liveness, readiness, description and metrics of the server: /livez, /healthz, /readyz, /metrics, /version.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api HealthApi();

}  // namespace inferflux::server
