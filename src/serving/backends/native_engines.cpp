#include "serving/backends/native_engines.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "model/families/family.h"
#include "model/families/rope_scaling.h"
#include "serving/backends/backend_table.h"
#include "serving/backends/device_choice.h"

namespace inferflux::serving {
namespace {

// As a compute backend takes it.
std::string NumberOf(int32_t device) { return device == kAnyDevice ? "" : std::to_string(device); }

// The context to configure the model for. If its RoPE depends on that, says so; with `original`, it is at most the one
// up to which RoPE is as trained.
Result<int32_t> ContextOf(const model::ModelSource& source, int32_t context, bool original) {
  const auto boundary = model::RopeSwitch(source);
  if (!boundary) return Forward(boundary);
  if (!*boundary) return context;
  int32_t effective = context;
  if (effective == 0) {
    const auto config = model::ReadModelConfig(source);
    if (!config) return Forward(config);
    effective = config->context;
  }
  if (effective <= **boundary) return context;
  if (original) return **boundary;
  log::Warning(
      "{}: for the context of {} tokens, RoPE is scaled for prompts of every length; transformers does not scale it "
      "for "
      "prompts of up to {} tokens. rope_context: original does the same, and limits the context to {} tokens",
      source.path(), effective, **boundary, **boundary);
  return context;
}

EngineMaker MakeNative(const engine::NativeBackend& backend, ThreadPool& pool) {
  return [&backend, &pool](const EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    const BackendConfig& wanted = request.config;
    const auto context = ContextOf(*request.source, request.context, wanted.rope_context == "original");
    if (!context) return Forward(context);
    auto config = model::ReadModelConfig(*request.source, *context);
    if (!config) return Forward(config);
    engine::EngineOptions options;
    options.context = *context;
    options.kv_bytes = wanted.kv_budget.value_or(0);
    options.stop = request.stop;
    options.kv_dtype = wanted.kv_dtype.value_or(options.kv_dtype);
    options.graphs = wanted.cuda_graphs.value_or(options.graphs);
    options.streams = wanted.cuda_streams.value_or(options.streams);
    options.parallelism = {.tensor = wanted.tensor_parallel.value_or(1),
                           .pipeline = wanted.pipeline_parallel.value_or(1)};
    const auto device = ChooseDevice(backend.devices({.pool = &pool}), wanted.device.value_or(""));
    if (!device) return Forward(device);
    options.device.device = NumberOf(*device);
    options.device.pool = &pool;
    options.device.repack = wanted.repack.value_or(options.device.repack);
    options.device.requantise = wanted.mlx_requantise.value_or(options.device.requantise);
    if (options.parallelism.ranks() > 1) {
      // What rank 0 can refuse alone, before it starts others.
      if (const auto shard = model::ShardConfig(*config, *request.source, options.parallelism, 0); !shard) {
        return Forward(shard);
      }
      options.collectives = wanted.collectives.value_or(options.collectives);
      options.kv_bytes /= options.parallelism.ranks();
      auto ranks = StartRanks(request.rank_job,
                              {.backend = std::string(backend.name),
                               .path = request.source->path(),
                               .context = *context,
                               .kv_dtype = options.kv_dtype,
                               .kv_bytes = options.kv_bytes,
                               .repack = options.device.repack,
                               .parallelism = options.parallelism,
                               .collectives = options.collectives},
                              pool);
      if (!ranks) return Forward(ranks);
      options.ranks = std::move(*ranks);
      if (request.rank_job) options.on_lost_rank = request.rank_job->on_lost;
    }
    return backend.create(std::move(*config), request.source, options);
  };
}

EngineEntry NativeEntry(const BackendRow& row, std::span<const engine::NativeBackend> backends, ThreadPool& pool) {
  const std::string_view name = row.compute.empty() ? Traits(row.target).name : row.compute;
  EngineEntry entry{.target = row.target, .provider = Provider::kNative, .automatic = row.automatic};
  const auto backend = std::ranges::find(backends, name, &engine::NativeBackend::name);
  if (backend == backends.end()) {
    entry.why_absent = fmt::format("this build has no {} backend; it needs {}", name, row.switched_on_by);
    return entry;
  }
  if (auto why = backend->unavailable(); !why.empty()) {
    entry.why_absent = std::move(why);
    return entry;
  }
  entry.weight_layouts = backend->layouts;
  entry.note = backend->note();
  const auto devices = [&backend = *backend, &pool] { return backend.devices({.pool = &pool}); };
  // On a CPU our own backend is faster. Engines made for GPUs then run only if the user names them.
  if (Traits(row.target).gpu_accelerated && std::ranges::none_of(devices(), &compute::Device::gpu)) {
    entry.automatic = false;
    if (row.gpu_only) {
      entry.why_absent = fmt::format("{0} finds no GPU here; the backend {0} runs it on the CPU", name);
      return entry;
    }
  }
  entry.make = MakeNative(*backend, pool);
  entry.self_test = [&backend = *backend, &pool](int32_t device) {
    return backend.self_test({.device = NumberOf(device), .pool = &pool});
  };
  entry.devices = devices;
  return entry;
}

}  // namespace

std::vector<EngineEntry> NativeEngines(ThreadPool& pool, std::span<const engine::NativeBackend> backends) {
  std::vector<EngineEntry> out;
  for (const BackendRow& row : BackendTable()) {
    if (row.provider == Provider::kNative && row.written) out.push_back(NativeEntry(row, backends, pool));
  }
  return out;
}

}  // namespace inferflux::serving
