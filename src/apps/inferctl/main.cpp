// inferctl: talks to a server, and inspects models without one.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "apps/inferctl/command.h"
#include "base/log.h"
#include "base/version/version.h"
#include "config/flags.h"
#include "config/resolve.h"

namespace inferflux::apps {

namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  inferctl quickstart                         a server.yaml for this machine\n"
    "  inferctl chat                               a conversation; starts a server if there is none\n"
    "  inferctl chat 'What is 2+2?'                one question\n"
    "  inferctl run llama-3.2-1b - <question.txt   one question from a file, to a model\n"
    "  inferctl complete 'Once upon a time' --max-tokens 20\n"
    "  inferctl ps --json                          what runs, for programs\n"
    "  inferctl bench -c 16 -n 64 --prompt-tokens 128 --max-tokens 32\n"
    "  inferctl status --url http://127.0.0.1:9000\n"
    "  inferctl tokenize model.gguf 'some text'\n"
    "\n";

std::string Footer() {
  return kExamples + ("Exit codes: " + ExitCodesLine()) + ".\n'inferctl COMMAND --help' says more about each.";
}

int Main(int argc, const char* const* argv) {
  CommandLine app("inferctl", "Talks to an InferFlux server, and looks into models without one.", kVersion);
  app.SetFooter(Footer());
  app.AddPrinters();
  config::FlagValues flags;
  bool print_config = false;
  bool json = false;
  app.AddFlag("--print-config", print_config, "print every setting, its value and where it came from, and exit");
  app.AddFlag("--json", json, "print JSON, for programs");
  config::AddFlags(app, config::kClient, flags);
  std::map<std::string, Run> commands = {{"admin", AddAdmin(app)},
                                         {"backends", AddBackends(app)},
                                         {"bench", AddBench(app)},
                                         {"chat", AddChat(app)},
                                         {"complete", AddComplete(app)},
                                         {"keys", AddKeys(app)},
                                         {"list", AddList(app)},
                                         {"models", AddModels(app)},
                                         {"parity", AddParity(app)},
                                         {"ps", AddPs(app)},
                                         {"quickstart", AddQuickstart(app)},
                                         {"rm", AddRm(app)},
                                         {"run", AddRun(app)},
                                         {"show", AddShow(app)},
                                         {"status", AddStatus(app)},
                                         {"stop", AddStop(app)},
                                         {"template", AddTemplate(app)},
                                         {"tokenize", AddTokenize(app)},
                                         {"workers", AddWorkers(app)}};
  if (const auto ended = app.Parse(argc, argv)) return *ended;
  const auto settings = config::Resolve(flags, config::ReadEnvironment(environ));
  if (!settings) return Complain(settings.error().message, kUsageError);
  if (const auto level = log::ParseLevel(settings->Text("log.level"))) log::SetLevel(*level);
  if (print_config) {
    fmt::print("{}", settings->Describe(config::kClient));
    return kOk;
  }
  if (app.chosen().empty()) return Complain("which command? see --help", kUsageError);
  const CommandContext context{.settings = *settings,
                               .url_is_default = settings->IsDefault("client.url"),
                               .url_is_flag = settings->IsFlag("client.url"),
                               .json = json};
  return commands.at(app.chosen())(context);
}

}  // namespace
}  // namespace inferflux::apps

int main(int argc, char** argv) { return inferflux::apps::Main(argc, argv); }
