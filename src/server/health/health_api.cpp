#include "server/health/health_api.h"

#include "server/health/health_endpoints.h"

namespace inferflux::server {
namespace {

constexpr Route kHealthRoutes[] = {
    {"GET", "/livez", Access::kOpen, &Livez},     {"GET", "/healthz", Access::kOpen, &Healthz},
    {"GET", "/readyz", Access::kOpen, &Readyz},   {"GET", "/metrics", Access::kOpen, &Metrics},
    {"GET", "/version", Access::kOpen, &Version},
};

}  // namespace

Api HealthApi() { return {.routes = kHealthRoutes}; }

}  // namespace inferflux::server
