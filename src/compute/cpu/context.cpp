#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"

namespace inferflux::compute {

std::vector<Device> Cpu::Devices(const ContextOptions& options) {
  const int cores = options.pool == nullptr ? 1 : options.pool->workers();
  const CpuIsa isa = cpu::SelectCpuIsa().value_or(CpuIsa::kScalar);
  return {host::HostDevice(fmt::format("{} on {} {}", CpuIsaName(isa), cores, cores == 1 ? "core" : "cores"))};
}

Result<std::unique_ptr<Cpu::Context>> Cpu::CreateContext(const ContextOptions& options) {
  if (auto device = FindDevice(Devices(options), options.device, kName); !device) return Forward(device);
  if (options.pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "the backend {} needs a thread pool", kName);
  const auto isa = cpu::SelectCpuIsa();
  if (!isa) return Forward(isa);
  auto context = std::make_unique<Context>(*options.pool, *isa);
  context->repack = options.repack;
  return context;
}

std::string Cpu::BuildNote() { return cpu::DescribeBuild().text; }

}  // namespace inferflux::compute
