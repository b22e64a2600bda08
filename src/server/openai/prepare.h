// Turns the bodies of chat and plain completions into jobs.
#pragma once

#include "net/http_message.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

ApiResult<Job> PrepareChat(const Services& services, const net::Request& request, const Caller& caller);
ApiResult<Job> PrepareCompletion(const Services& services, const net::Request& request, const Caller& caller);

}  // namespace inferflux::server
