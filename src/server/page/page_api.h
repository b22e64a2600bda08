// The page's routes: GET /, where the build has the page and the configuration does not switch it off.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api PageApi(const Services& services);

}  // namespace inferflux::server
