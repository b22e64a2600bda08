// inferfluxd's command line.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace inferflux::apps {

struct DaemonOptions {
  config::Settings settings;
  std::function<Result<config::Settings>()> resolve_again;  // from the same flags, and the files as they are then
  std::string port_file;                                    // receives the server's URL once it listens; empty: none
  bool print_config = false;
  bool print_backends = false;
};

// The options, or the exit code if there is nothing more to do, because help was printed or because of an error.
struct ParsedOptions {
  std::optional<DaemonOptions> options;
  int exit_code = 0;
};
ParsedOptions ParseOptions(int argc, const char* const* argv);

}  // namespace inferflux::apps
