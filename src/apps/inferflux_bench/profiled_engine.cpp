#include "apps/inferflux_bench/profiled_engine.h"

#include "apps/inferflux_bench/profiled_cpu.h"
#include "compute/cpu/kernels/select_isa.h"
#include "engine/native/native_engine.h"

namespace inferflux::apps {

Result<std::unique_ptr<engine::Engine>> CreateProfiledEngine(ThreadPool& pool, Profile& profile,
                                                             model::ModelConfig config,
                                                             std::shared_ptr<const model::ModelSource> source,
                                                             const engine::EngineOptions& options) {
  const auto isa = compute::cpu::SelectCpuIsa();
  if (!isa) return Forward(isa);
  auto context = std::make_unique<ProfiledCpu::Context>(pool, *isa, profile);
  context->repack = options.device.repack;
  return engine::CreateNativeEngine<ProfiledCpu>(std::move(context), std::move(config), std::move(source), options);
}

}  // namespace inferflux::apps
