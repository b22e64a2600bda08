#include "apps/console/may_write.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace inferflux::apps {

Status MayWrite(const std::string& path, bool force) {
  std::error_code ignored;
  if (force || !std::filesystem::exists(path, ignored)) return {};
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
    return Fail(ErrorCode::kInvalidArgument, "{} is there already: --force replaces it, or name another file", path);
  }
  fmt::print(stderr, "{} is there already. Replace it? [y/N] ", path);
  std::fflush(stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return {};
  return Fail(ErrorCode::kCancelled, "{} stays as it is", path);
}

}  // namespace inferflux::apps
