// The file of a Unix socket that a server listens on.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::net {

// Removes the file of a server that has ended. kInvalidArgument if the path is no socket, is too long, or if a server
// answers there.
Status MakeWayForUnixSocket(const std::string& path);

}  // namespace inferflux::net
