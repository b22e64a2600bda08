// Every path that the server answers.
#pragma once

#include "net/router.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Router MakeRoutes(Services& services);

}  // namespace inferflux::server
