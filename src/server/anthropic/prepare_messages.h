// From the body of POST /v1/messages to a job.
#pragma once

#include "net/http_message.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

// 400 where the header anthropic-version names a version that is not spoken here; it may be absent. What 2026-10-21
// took out of 2023-06-01 is refused in both here, but for temperature, top_p and top_k, which are taken in both.
ApiStatus CheckVersion(const net::Request& request);

ApiResult<Job> PrepareMessages(const Services& services, const net::Request& request, const Caller& caller);

}  // namespace inferflux::server
