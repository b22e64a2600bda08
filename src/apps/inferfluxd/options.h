// inferfluxd's command line.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"

namespace inferflux::apps {

struct DaemonOptions {
  config::Settings settings;
  std::string port_file;  // where the server's URL is written once it listens; empty: nowhere
  bool print_config = false;
  bool print_backends = false;
};

// The options, or the exit code where there is nothing more to do: help was printed, or an error.
struct ParsedOptions {
  std::optional<DaemonOptions> options;
  int exit_code = 0;
};
ParsedOptions ParseOptions(int argc, const char* const* argv);

}  // namespace inferflux::apps
