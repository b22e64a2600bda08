// The paths of llama-server and vLLM that OpenAI's API lacks.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api LlamaServerApi();

}  // namespace inferflux::server
