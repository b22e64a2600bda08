// inferctl parity: compares every engine of this build with the reference engine, on one model.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "apps/console/embedded_model.h"
#include "apps/inferctl/command.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "parity/run_parity.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::apps {
namespace {

const char* Word(parity::Outcome outcome) {
  if (outcome == parity::Outcome::kSame) return "same";
  return outcome == parity::Outcome::kDifferent ? "DIFFERENT" : "refused";
}

int RunParityCommand(const std::string& named) {
  std::string path = named;
  if (path.empty()) {
    auto embedded = FindEmbeddedModel();
    if (!embedded) return Complain(embedded.error());
    path = std::move(*embedded);
  }
  ThreadPool pool(UsableCores());
  const auto engines = serving::BuiltInEngines(pool);
  const auto model = parity::PrepareParity(engines, path);
  if (!model) return Complain(model.error());
  const auto& bounds = model->bounds;
  fmt::print("{}: logits within {} of the reference's norm, log probabilities within {}, ties within {}\n", path,
             bounds.logits, bounds.logprob, bounds.tie);
  constexpr const char* kRow = "{:10} {:10} {:20} {:10} {}\n";
  fmt::print(fmt::runtime(kRow), "BACKEND", "PROVIDER", "CHECK", "RESULT", "SEEN");
  const auto rows = parity::RunParity(engines, *model, [&](const parity::ParityRow& row) {
    fmt::print(fmt::runtime(kRow), row.backend, row.provider, row.check, Word(row.outcome), row.detail);
    std::fflush(stdout);
  });
  for (const auto& engine : engines) {
    if (engine.make) continue;
    fmt::print(fmt::runtime(kRow), serving::Traits(engine.target).name, serving::ProviderName(engine.provider), "-",
               "absent", engine.why_absent);
  }
  return parity::Passed(rows) ? kOk : kFailed;
}

}  // namespace

Run AddParity(Command& app) {
  auto path = std::make_shared<std::string>();
  Command parity = app.AddCommand(
      "parity", "compare every backend of this build with the reference; needs no server; exit code 1 on a difference");
  parity.Add("--model", *path, "GGUF file; default: the bundled model");
  return [path](const CommandContext&) { return RunParityCommand(*path); };
}

}  // namespace inferflux::apps
