// inferctl parity: compares every engine of this build with the reference engine, on one model.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "apps/console/embedded_model.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "parity/run_parity.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr const char* kParityRow = "{:10} {:10} {:20} {:10} {}\n";

const char* Word(parity::Outcome outcome) {
  if (outcome == parity::Outcome::kSame) return "same";
  return outcome == parity::Outcome::kDifferent ? "DIFFERENT" : "refused";
}

void PrintRow(const parity::ParityRow& row) {
  fmt::print(fmt::runtime(kParityRow), row.backend, row.provider, row.check, Word(row.outcome), row.detail);
  std::fflush(stdout);
}

json::array RowsAsJson(const std::vector<parity::ParityRow>& rows) {
  json::array out;
  for (const parity::ParityRow& row : rows) {
    out.push_back({{"backend", row.backend},
                   {"provider", row.provider},
                   {"check", row.check},
                   {"result", Word(row.outcome)},
                   {"seen", row.detail}});
  }
  return out;
}

int RunParityCommand(bool as_json, const std::string& named) {
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
  if (as_json) {
    const auto rows = parity::RunParity(engines, *model, [](const parity::ParityRow&) {});
    const bool passed = parity::Passed(rows);
    const int printed = PrintJson(json::object{{"model", path}, {"passed", passed}, {"checks", RowsAsJson(rows)}});
    return printed == kOk && !passed ? kFailed : printed;
  }
  fmt::print("{}: logits within {} of the reference's norm, log probabilities within {}, ties within {}\n", path,
             bounds.logits, bounds.logprob, bounds.tie);
  fmt::print(fmt::runtime(kParityRow), "BACKEND", "PROVIDER", "CHECK", "RESULT", "SEEN");
  const auto rows = parity::RunParity(engines, *model, PrintRow);
  for (const auto& engine : engines) {
    if (engine.make) continue;
    fmt::print(fmt::runtime(kParityRow), serving::Traits(engine.target).name, serving::ProviderName(engine.provider),
               "-", "absent", engine.why_absent);
  }
  return parity::Passed(rows) ? kOk : kFailed;
}

}  // namespace

Run AddParity(Command& app) {
  auto path = std::make_shared<std::string>();
  Command parity = app.AddCommand(
      "parity", "compare every backend of this build with the reference; needs no server; exit code 1 on a difference");
  parity.Add("--model", *path, "GGUF file; default: the bundled model");
  return [path](const CommandContext& context) { return RunParityCommand(context.json, *path); };
}

}  // namespace inferflux::apps
