// The paths of Anthropic's API.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api AnthropicApi();

}  // namespace inferflux::server
