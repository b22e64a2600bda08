// Who listens on a port of this machine.
#pragma once

#include <cstdint>
#include <string>

namespace inferflux::net {

// "inferfluxd (process 4711)", as far as Linux's /proc tells it to this user; otherwise "another process".
std::string DescribePortOwner(uint16_t port);

}  // namespace inferflux::net
