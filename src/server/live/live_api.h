// What the server is doing and has done: live figures once a second, and the timelines of requests.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api LiveApi();

}  // namespace inferflux::server
