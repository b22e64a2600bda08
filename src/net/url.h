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
  bool tls = false;
};

// Parses "http://host[:port][/prefix]" (the scheme is optional: http) or the same with https, whose port is 443 unless
// it is given.
Result<ServerAddress> ParseServerAddress(std::string_view url);

// For a connection that speaks no TLS: https is kUnsupported.
Result<ServerAddress> ParsePlainAddress(std::string_view url);

}  // namespace inferflux::net
