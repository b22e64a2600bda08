#include "server/live/live_api.h"

#include "server/live/live_feed.h"
#include "server/live/request_timelines.h"

namespace inferflux::server {
namespace {

constexpr Route kLiveRoutes[] = {
    {"GET", "/v1/live", Access::kMetrics, &StreamLiveFigures},
    {"GET", "/v1/requests", Access::kRead, &ListRequests},
    {"GET", "/v1/requests/{id}", Access::kRead, &DescribeRequest},
};

}  // namespace

Api LiveApi() { return {.routes = kLiveRoutes}; }

}  // namespace inferflux::server
