// inferctl backends: lists every engine and which of them this build has, and the machine's hardware.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "apps/console/backend_list.h"
#include "apps/inferctl/command.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/cpu/read_bandwidth.h"
#include "hardware/device_list.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::apps {
namespace {

struct Form {
  bool markdown = false;
  bool bandwidth = false;
};

constexpr double kBandwidthSeconds = 1.0;

Result<double> MeasureBandwidth(ThreadPool& pool) {
  const auto isa = compute::cpu::SelectCpuIsa();
  if (!isa) return Forward(isa);
  auto meter = compute::cpu::ReadBandwidthMeter::Create(pool, compute::cpu::KernelsFor(*isa));
  if (!meter) return Forward(meter);
  return meter->Measure(kBandwidthSeconds);
}

int RunBackends(bool as_json, const Form& form) {
  if (as_json && form.markdown) return Complain("--json and --markdown are two forms; choose one", kUsageError);
  if (form.markdown) {
    fmt::print("{}", BackendsAsMarkdown());
    return kOk;
  }
  ThreadPool pool(UsableCores());
  const auto engines = serving::BuiltInEngines(pool);
  const hardware::Hardware hardware = hardware::ReadHardware();
  std::optional<double> bandwidth;
  if (form.bandwidth) {
    const auto measured = MeasureBandwidth(pool);
    if (!measured) return Complain(measured.error());
    bandwidth = *measured;
  }
  fmt::print("{}",
             as_json ? BackendsAsJson(engines, hardware, bandwidth) : BackendsAsText(engines, hardware, bandwidth));
  return kOk;
}

}  // namespace

Run AddBackends(Command& app) {
  auto form = std::make_shared<Form>();
  Command backends = app.AddCommand(
      "backends", "list what can run models, on what here, or why not, and the hardware; needs no server");
  CommandOption bandwidth =
      backends.AddFlag("--bandwidth", form->bandwidth, "measure how fast the cores read memory; takes a second");
  backends.AddFlag("--markdown", form->markdown, "print what each can do in any build as a Markdown table")
      .Excludes(bandwidth);
  return [form](const CommandContext& context) { return RunBackends(context.json, *form); };
}

}  // namespace inferflux::apps
