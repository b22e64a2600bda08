#include "serving/backends/built_in_engines.h"

#include <algorithm>
#include <iterator>

#include "compute/cpu/kernels/select_isa.h"
#include "engine/native/create_cpu_engine.h"
#include "engine/native/create_reference_engine.h"
#include "engine/native/kv_budget.h"
#include "serving/backends/llama_engines.h"
#include "serving/backends/mlx_engines.h"
#include "serving/backends/native_maker.h"

namespace inferflux::serving {

namespace {

std::vector<engine::Device> HostDevice(int cores, CpuIsa isa) {
  return {
      {fmt::format("{} on {} {}", CpuIsaName(isa), cores, cores == 1 ? "core" : "cores"), engine::AvailableMemory()}};
}

}  // namespace

std::vector<EngineEntry> BuiltInEngines(ThreadPool& pool) {
  std::vector<EngineEntry> out = {
      {.target = Target::kCpu,
       .provider = Provider::kNative,
       .make = Native([&pool](auto config, auto source, const auto& options) {
         return engine::CreateCpuEngine(pool, std::move(config), std::move(source), options);
       }),
       .devices =
           [&pool] { return HostDevice(pool.workers(), compute::cpu::SelectCpuIsa().value_or(CpuIsa::kScalar)); },
       .forms = engine::CpuWeightLayouts(),
       .note = compute::cpu::DescribeBuild().text},
      {.target = Target::kReference,
       .provider = Provider::kNative,
       .make = Native([](auto config, auto source, const auto& options) {
         return engine::CreateReferenceEngine(std::move(config), std::move(source), options);
       }),
       .automatic = false,  // the oracle is only for asking
       .devices = [] { return HostDevice(1, CpuIsa::kScalar); }},
  };
  std::ranges::move(LlamaEngines(pool), std::back_inserter(out));
  std::ranges::move(MlxEngines(), std::back_inserter(out));
  return out;
}

}  // namespace inferflux::serving
