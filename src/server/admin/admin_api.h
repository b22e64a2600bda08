// The paths by which a server is run: models, routing, what they hold, and the conversations whose KV is kept.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api AdminApi();

}  // namespace inferflux::server
