#include "engine/native/create_cpu_engine.h"

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/cpu/kv_cache/kv_pieces.h"
#include "compute/optional_ops.h"
#include "engine/native/native_engine.h"

namespace inferflux::engine {

formats::WeightLayouts CpuWeightLayouts() { return compute::kMatmulLayoutsOf<compute::Cpu>; }

Result<std::unique_ptr<Engine>> CreateCpuEngine(ThreadPool& pool, model::ModelConfig config,
                                                std::shared_ptr<const model::ModelSource> source,
                                                const EngineOptions& options) {
  const auto isa = compute::cpu::SelectCpuIsa();
  if (!isa) return Forward(isa);
  auto context = std::make_unique<compute::Cpu::Context>(pool, *isa);
  context->repack = options.repack;
  return CreateNativeEngine<compute::Cpu>(std::move(context), std::move(config), std::move(source), options);
}

}  // namespace inferflux::engine
