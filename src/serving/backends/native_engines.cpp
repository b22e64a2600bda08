#include "serving/backends/native_engines.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "model/families/family.h"
#include "serving/backends/backend_table.h"

namespace inferflux::serving {
namespace {

EngineMaker MakeNative(const engine::NativeBackend& backend, ThreadPool& pool) {
  return [&backend, &pool](const EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    auto config = model::ReadModelConfig(*request.source, request.context);
    if (!config) return Forward(config);
    const BackendConfig& wanted = request.config;
    engine::EngineOptions options{
        .context = request.context, .kv_bytes = wanted.kv_budget.value_or(0), .stop = request.stop};
    options.kv_dtype = wanted.kv_dtype.value_or(options.kv_dtype);
    const int32_t device = wanted.device.value_or(-1);
    options.device = {.device = device < 0 ? "" : std::to_string(device), .pool = &pool};
    options.device.repack = wanted.repack.value_or(options.device.repack);
    options.device.requantise = wanted.mlx_requantise.value_or(options.device.requantise);
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
    return backend.self_test({.device = device < 0 ? "" : std::to_string(device), .pool = &pool});
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
