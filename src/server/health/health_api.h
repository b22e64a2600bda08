// The paths that report the server's state.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api HealthApi();

}  // namespace inferflux::server
