// The paths that administer a server: models, routing, cache and pools, and sessions.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api AdminApi();

}  // namespace inferflux::server
