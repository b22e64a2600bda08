// The paths of Ollama's API.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api OllamaApi();

}  // namespace inferflux::server
