// What every route does with a request whose API key is missing or wrong.
#pragma once

#include "net/http_message.h"
#include "server/request/services.h"

namespace inferflux::server {

// Counts the request (inferflux_failed_logins_total), and makes the answer wait if `guessed`: a request that gives no
// key at all is no guess.
void CountFailedLogin(Services& services, const net::Request& request, bool guessed, net::Response& answer);

}  // namespace inferflux::server
