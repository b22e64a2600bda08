#include "serving/backends/llama_engines.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "engine/llama_cpp/create_llama_engine.h"
#include "serving/backends/backend_table.h"
#include "serving/backends/device_choice.h"
#include "serving/backends/llama_config.h"
#include "serving/backends/llama_targets.h"

namespace inferflux::serving {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::seconds(2);

// Logs a line every few seconds while a large file loads.
auto ProgressLog(std::string path) {
  return [path = std::move(path), last = Clock::now()](float part) mutable {
    if (Clock::now() - last < kPause) return;
    last = Clock::now();
    log::Info("llama.cpp is loading {}: {:.0f}%", path, part * 100.0f);
  };
}

EngineMaker MakeLlama(Target target, int32_t cores) {
  return [target, cores](const EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    if (request.config.tensor_parallel.value_or(1) > 1 || request.config.pipeline_parallel.value_or(1) > 1) {
      return Fail(ErrorCode::kUnsupported,
                  "llama.cpp shares no model between processes (runtime.tensor_parallel, runtime.pipeline_parallel)");
    }
    const TargetTraits& traits = Traits(target);
    const auto device = ChooseDevice(engine::LlamaDeviceList(traits.name), request.config.device.value_or(""));
    if (!device) return Forward(device);
    const LlamaTuning tuning = TuneLlamaBackendConfig(request.config, traits);
    engine::LlamaOptions options{.target = std::string(traits.name),
                                 .device = *device,
                                 .context = request.context,
                                 .kv_bytes = request.config.kv_budget.value_or(0),
                                 .batch = tuning.batch,
                                 .micro_batch = tuning.micro_batch,
                                 .threads = cores,
                                 .flash_attention = tuning.flash_attention,
                                 .gpu_layers = tuning.gpu_layers,
                                 .on_progress = ProgressLog(request.source->path())};
    options.kv_dtype = request.config.kv_dtype.value_or(options.kv_dtype);
    return engine::CreateLlamaEngine(*request.source, options);
  };
}

}  // namespace

std::vector<EngineEntry> LlamaEngines(const ThreadPool& pool) {
  const auto here = engine::LlamaTargets();
  std::vector<EngineEntry> out;
  for (const Target target : kLlamaTargets) {
    const std::string_view name = Traits(target).name;
    EngineEntry entry{.target = target, .provider = Provider::kLlamaCpp};
    if (std::ranges::find(here, name) != here.end()) {
      entry.make = MakeLlama(target, pool.workers());
      entry.self_test = [name](int32_t device) { return engine::LlamaSelfTest(name, device); };
      entry.devices = [name] { return engine::LlamaDeviceList(name); };
    } else {
      entry.why_absent = fmt::format("the libllama of this build finds no {} device; it needs {}", name,
                                     FindBackendRow(target, Provider::kLlamaCpp)->switched_on_by);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace inferflux::serving
