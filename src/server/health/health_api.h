// The paths that say how the server is.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api HealthApi();

}  // namespace inferflux::server
