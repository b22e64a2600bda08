// How long a request may take: what its header X-Request-Timeout says, and what the server allows.
#pragma once

#include <chrono>
#include <optional>

#include "net/http_message.h"
#include "server/request/api_error.h"

namespace inferflux::server {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// The earlier of the two, from now; none if neither is set. `most` 0: the server sets none. 400 if the header is not a
// number of seconds from 0.001 to 86,400.
ApiResult<Deadline> DeadlineOf(const net::Request& request, std::chrono::seconds most);

// The earlier of the two.
Deadline Earlier(const Deadline& a, const Deadline& b);

}  // namespace inferflux::server
