#include "serving/backends/mlx_engines.h"

#include "engine/native/create_mlx_engine.h"
#include "engine/native/kv_budget.h"
#include "serving/backends/native_maker.h"

namespace inferflux::serving {

std::vector<EngineEntry> MlxEngines() {
  const bool gpu = engine::MlxDevice() == "gpu";
  const EngineMaker make = Native([](auto config, auto source, const auto& options) {
    return engine::CreateMlxEngine(std::move(config), std::move(source), options);
  });
  const auto devices = [] {
    return std::vector<engine::Device>{{"MLX on the " + engine::MlxDevice(), engine::AvailableMemory()}};
  };
  // On a CPU our own backend is faster: there MLX runs only where it is named.
  EngineEntry mlx{.target = Target::kMlx,
                  .provider = Provider::kNative,
                  .make = make,
                  .automatic = gpu,
                  .devices = devices,
                  .forms = engine::MlxWeightLayouts()};
  EngineEntry mps{
      .target = Target::kMps, .provider = Provider::kNative, .automatic = false, .forms = engine::MlxWeightLayouts()};
  if (gpu) {
    mps.make = make;
    mps.devices = devices;
  } else {
    mps.why_absent = "MLX finds no Metal device here; the backend mlx runs it on the CPU";
  }
  return {std::move(mlx), std::move(mps)};
}

}  // namespace inferflux::serving
