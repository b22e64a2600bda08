// All paths of the server.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/router.h"
#include "server/request/services.h"

namespace inferflux::server {

// What a listener serves.
enum class Door : uint8_t {
  kEverything,
  kPublic,  // all but administration and metrics, which have a listener of their own
};

net::Router MakeRoutes(Services& services, Door door = Door::kEverything);

// Formats an error for the API that owns the target, found by the longest path that the target begins with. OpenAI's
// format if no API owns it.
net::Response RefusalAt(std::string_view target, const ApiError& error);

}  // namespace inferflux::server
