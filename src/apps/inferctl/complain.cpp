// The one way in which inferctl reports an error.
#include <fmt/format.h>

#include <cstdio>

#include "apps/inferctl/command.h"

namespace inferflux::apps {

int Complain(const std::string& message, int code) {
  fmt::print(stderr, "inferctl: {}\n", message);
  return code;
}

int Complain(const Error& error) {
  const bool no_server = error.code == ErrorCode::kUnavailable;
  return Complain(error.message, error.code == ErrorCode::kCancelled ? kInterrupted : no_server ? kNoServer : kFailed);
}

}  // namespace inferflux::apps
