// OpenAI's Files: uploads for batches, and what batches made of them.
#pragma once

#include "server/request/route.h"

namespace inferflux::server {

Api FilesApi();

}  // namespace inferflux::server
