// Asks before a file is replaced.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::apps {

// Whether a program may write to `path`: nothing is there, `force` was given, or the person at the terminal agrees.
// Otherwise kInvalidArgument, or kCancelled after a "no".
Status MayWrite(const std::string& path, bool force);

}  // namespace inferflux::apps
