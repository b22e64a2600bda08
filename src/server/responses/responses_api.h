// The paths of OpenAI's Responses and Conversations APIs.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api ResponsesApi();

}  // namespace inferflux::server
