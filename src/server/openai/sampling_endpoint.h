// GET /v1/sampling_parameters: every sampling parameter with its type, range and default, for programs that offer these
// settings.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

net::Response ListSamplingParameters(Services& services, const net::Request& request);

}  // namespace inferflux::server
