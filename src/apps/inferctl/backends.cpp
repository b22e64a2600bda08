// inferctl backends: lists every engine, and which of them this build has.
#include <fmt/format.h>

#include <memory>

#include "apps/console/backend_list.h"
#include "apps/inferctl/command.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::apps {
namespace {

struct Form {
  bool json = false;
  bool markdown = false;
};

int RunBackends(const Form& form) {
  if (form.markdown) {
    fmt::print("{}", BackendsAsMarkdown());
    return kOk;
  }
  ThreadPool pool(UsableCores());
  const auto engines = serving::BuiltInEngines(pool);
  fmt::print("{}", form.json ? BackendsAsJson(engines) : BackendsAsText(engines));
  return kOk;
}

}  // namespace

Run AddBackends(Command& app) {
  auto form = std::make_shared<Form>();
  Command backends = app.AddCommand("backends", "list what can run models, on what here, or why not; needs no server");
  CommandOption json = backends.AddFlag("--json", form->json, "print the list with the capabilities of each as JSON");
  backends.AddFlag("--markdown", form->markdown, "print what each can do in any build as a Markdown table")
      .Excludes(json);
  return [form](const CommandContext&) { return RunBackends(*form); };
}

}  // namespace inferflux::apps
