#include "serving/models/host_memory_need.h"

#include <algorithm>

#include "serving/backends/gpu_layers.h"

namespace inferflux::serving {
namespace {

// Apple's GPUs use the host's memory.
bool HasOwnMemory(const EngineEntry& engine, const BackendConfig& config) {
  if (engine.target == Target::kMlx || engine.target == Target::kMps) return false;
  return Traits(engine.target).gpu_accelerated && DeviceOf(engine, config).gpu;
}

}  // namespace

HostMemoryNeed NeedOf(const EngineEntry& engine, const BackendConfig& config, const model::ModelSource& source,
                      const model::ModelSource* draft) {
  HostMemoryNeed out{.kv_bytes = config.kv_budget.value_or(0)};
  const int64_t weights = source.WeightBytes(engine.weight_layouts);
  if (HasOwnMemory(engine, config)) {
    const int32_t layers = LayersOf(source), on_gpu = config.gpu_layers.value_or(-1);
    const bool all = on_gpu < 0 || layers <= 0 || on_gpu >= layers;
    return {.weight_bytes = all ? 0 : weights / layers * (layers - on_gpu), .kv_bytes = 0, .holds_kv = false};
  }
  out.mapped = engine.target == Target::kCpu && engine.provider == Provider::kNative && !config.repack.value_or(true);
  if (out.mapped) return out;
  out.weight_bytes = weights + (draft != nullptr ? draft->WeightBytes(engine.weight_layouts) : 0);
  return out;
}

int64_t HostMemoryOf(const ServedModel& model, const HostMemoryNeed& need, int64_t granted_kv) {
  if (!need.holds_kv) return need.weight_bytes;
  int64_t weights = 0, kv = 0;
  for (const engine::DeviceMemory& memory : model.info.memory) {
    if (!need.mapped) weights += memory.weight_bytes;
    kv += memory.kv_bytes;
  }
  if (kv == 0 && model.exposure.provider != "native") kv = granted_kv;
  const bool draft = !model.info.draft.empty();
  // An engine reports its own model only.
  return draft ? std::max(weights, need.weight_bytes) + kv + DraftKv(granted_kv) : weights + kv;
}

}  // namespace inferflux::serving
