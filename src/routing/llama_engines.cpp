#include "routing/llama_engines.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "engine/llama_cpp/create_llama_engine.h"
#include "routing/backend_table.h"
#include "routing/llama_targets.h"

namespace inferflux::routing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::seconds(2);

// A line each few seconds while a large file loads.
auto ProgressLog(std::string path) {
  return [path = std::move(path), last = Clock::now()](float part) mutable {
    if (Clock::now() - last < kPause) return;
    last = Clock::now();
    log::Info("llama.cpp is loading {}: {:.0f}%", path, part * 100.0f);
  };
}

EngineMaker MakeLlama(Target target, int32_t cores) {
  return [target, cores](const EngineRequest& request) {
    const TargetTraits& traits = Traits(target);
    const LlamaBackendConfig config = TuneLlamaBackendConfig(request.llama, traits, cores);
    engine::LlamaOptions options{.target = std::string(traits.name),
                                 .context = request.context,
                                 .kv_bytes = request.kv_bytes,
                                 .batch = *config.batch,
                                 .micro_batch = *config.micro_batch,
                                 .threads = *config.threads,
                                 .flash_attention = *config.flash_attention,
                                 .gpu_layers = *config.gpu_layers,
                                 .on_progress = ProgressLog(request.source->path())};
    if (!request.kv_dtype.empty()) options.kv_dtype = request.kv_dtype;
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
      entry.devices = [name] { return engine::LlamaDeviceList(name); };
    } else {
      entry.why_absent = fmt::format("the libllama of this build finds no {} device; it needs {}", name,
                                     FindBackendRow(target, Provider::kLlamaCpp)->switched_on_by);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace inferflux::routing
