// Turns the body of POST /v1/messages into a job.
#pragma once

#include "net/http_message.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

// 400 if the header anthropic-version names an unsupported version; it may be absent. Fields that 2026-10-21 removed
// from 2023-06-01 are refused under both versions, except temperature, top_p and top_k, which both accept.
ApiStatus CheckVersion(const net::Request& request);

ApiResult<Job> PrepareMessages(const Services& services, const net::Request& request, const Caller& caller);

}  // namespace inferflux::server
