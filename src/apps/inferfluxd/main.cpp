// inferfluxd: the server.
#include <fmt/format.h>

#include "apps/inferfluxd/daemon.h"
#include "apps/inferfluxd/options.h"

int main(int argc, char** argv) {
  using namespace inferflux;
  const apps::ParsedOptions parsed = apps::ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (parsed.options->print_config) {
    fmt::print("{}", parsed.options->settings.Describe(config::kServer));
    return 0;
  }
  if (parsed.options->print_backends) {
    apps::PrintBackends();
    return 0;
  }
  return apps::RunDaemon(*parsed.options);
}
