// The paths of OpenAI's API.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api OpenAiApi();

}  // namespace inferflux::server
