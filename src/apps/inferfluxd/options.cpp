#include "apps/inferfluxd/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/version/version.h"
#include "config/flags.h"
#include "config/resolve.h"

namespace inferflux::apps {

ParsedOptions ParseOptions(int argc, const char* const* argv) {
  CommandLine app(
      "inferfluxd",
      "Serves language models with the OpenAI API.\n\n"
      "Without --model and --models-dir, the model that comes with InferFlux is served. Every setting can be a flag, "
      "an environment\n"
      "variable (--server-port is INFERFLUX_SERVER_PORT) or a key of a YAML file (server: {port: 8080}), in this "
      "order.",
      kVersion);
  config::FlagValues flags;
  std::string port_file;
  bool pool = false;
  bool print_config = false;
  bool print_backends = false;
  app.Add("--port-file", port_file, "write the server's URL to this file once it listens").Shown("FILE");
  app.AddFlag("--pool", pool, "run each model in worker processes, and supervise them (workers.enabled)");
  app.AddFlag("--print-config", print_config, "print every setting, its value and where it came from, and exit");
  app.AddFlag("--backends", print_backends, "print the backends of this build, and why others are missing, and exit");
  app.AddPrinters();
  config::AddFlags(app, config::kServer, flags);
  if (const auto ended = app.Parse(argc, argv)) return {std::nullopt, *ended};
  if (pool) config::SetSwitch("workers.enabled", true, flags);
  auto settings = config::Resolve(flags, config::ReadEnvironment(environ));
  if (!settings) {
    fmt::print(stderr, "inferfluxd: {}\n", settings.error().message);
    return {std::nullopt, kUsageError};
  }
  const auto again = [flags] { return config::Resolve(flags, config::ReadEnvironment(environ)); };
  return {DaemonOptions{std::move(*settings), again, std::move(port_file), print_config, print_backends}, 0};
}

}  // namespace inferflux::apps
