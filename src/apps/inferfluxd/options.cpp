#include "apps/inferfluxd/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "config/flags.h"
#include "config/resolve.h"

namespace inferflux::apps {
namespace {

constexpr int kUsageError = 2;

ParsedOptions UsageError(const std::string& message) {
  fmt::print(stderr, "inferfluxd: {}\n", message);
  return {std::nullopt, kUsageError};
}

}  // namespace

ParsedOptions ParseOptions(int argc, const char* const* argv) {
  CLI::App app(
      "Serves language models behind the OpenAI API.\n\n"
      "Without --model, the model that comes with InferFlux is served. Every setting can be a flag, an environment\n"
      "variable (--server-port is INFERFLUX_SERVER_PORT) or a key of a YAML file (server: {port: 8080}), in this "
      "order.",
      "inferfluxd");
  app.allow_extras();
  app.set_version_flag("--version", "inferfluxd " INFERFLUX_VERSION);
  config::FlagValues flags;
  std::string port_file;
  bool print_config = false;
  bool print_backends = false;
  app.add_option("--port-file", port_file, "write the server's URL to this file once it listens")->type_name("FILE");
  app.add_flag("--print-config", print_config, "print every setting, its value and where it came from, and end");
  app.add_flag("--backends", print_backends, "print what can run models in this build, and why others cannot, and end");
  config::AddFlags(app, config::kServer, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return {std::nullopt, app.exit(asked)};
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }
  if (Status known = config::RejectUnknownFlags(app); !known) return UsageError(known.error().message);
  auto settings = config::Resolve(flags, config::ReadEnvironment(environ));
  if (!settings) return UsageError(settings.error().message);
  return {DaemonOptions{std::move(*settings), std::move(port_file), print_config, print_backends}, 0};
}

}  // namespace inferflux::apps
