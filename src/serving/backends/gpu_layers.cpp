#include "serving/backends/gpu_layers.h"

#include <algorithm>
#include <string>

#include "serving/backends/device_choice.h"

namespace inferflux::serving {
namespace {

constexpr int64_t kProgram = int64_t{128} << 20;

}  // namespace

int64_t MemoryFor(int64_t weight_bytes) { return weight_bytes + weight_bytes / 8 + kProgram; }

int32_t GpuLayersThatFit(int64_t weight_bytes, int32_t layers, int64_t free_bytes) {
  const int64_t room = free_bytes - free_bytes / 5;
  if (free_bytes <= 0 || layers <= 0 || MemoryFor(weight_bytes) <= room) return -1;
  const int64_t fitting = room / std::max<int64_t>(1, weight_bytes / layers);
  return static_cast<int32_t>(std::clamp<int64_t>(fitting, 0, layers));
}

int32_t LayersOf(const model::ModelSource& source) {
  const auto architecture = source.metadata().GetOr<std::string>("general.architecture", "");
  if (!architecture) return 0;
  return source.metadata().GetOr<int32_t>(*architecture + ".block_count", 0).value_or(0);
}

bool SplitsLayers(const EngineEntry& engine) {
  return engine.provider == Provider::kLlamaCpp && Traits(engine.target).gpu_accelerated;
}

compute::Device DeviceOf(const EngineEntry& engine, const BackendConfig& config) {
  const auto devices = engine.devices ? engine.devices() : std::vector<compute::Device>();
  const auto chosen = static_cast<size_t>(std::max(0, ChooseDevice(devices, config.device.value_or("")).value_or(0)));
  return chosen < devices.size() ? devices[chosen] : compute::Device();
}

void ChooseGpuLayers(const EngineEntry& engine, const model::ModelSource& source, BackendConfig& config) {
  if (!SplitsLayers(engine) || config.gpu_layers.value_or(-1) >= 0) return;
  config.gpu_layers = GpuLayersThatFit(source.WeightBytes(), LayersOf(source), DeviceOf(engine, config).free_bytes);
}

}  // namespace inferflux::serving
