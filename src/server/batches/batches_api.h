// OpenAI's Batches.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api BatchesApi();

}  // namespace inferflux::server
