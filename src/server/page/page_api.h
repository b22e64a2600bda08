// The page's routes: GET /.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api PageApi();

}  // namespace inferflux::server
