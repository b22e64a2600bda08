// The address of a server that a client talks to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferflux::net {

struct ServerAddress {
  std::string host;
  uint16_t port = 80;
  std::string base_path;  // "" or "/prefix", without a trailing slash
};

// Parses "http://host[:port][/prefix]" (the scheme is optional). https is an error that says that only http is
// supported.
Result<ServerAddress> ParseServerAddress(std::string_view url);

}  // namespace inferflux::net
