// The device of a build without CUDA: one that the host executor plays, quicker and less strict than in tests of
// kernels.
#include <algorithm>

#include "base/host_memory.h"
#include "compute/cuda/host_runtime.h"
#include "compute/cuda/nccl/nccl.h"

namespace inferflux::cuda {
namespace {

HostDevice PlayedDevice() {
  constexpr int64_t kMost = int64_t{4} << 30;
  return {.memory_bytes = static_cast<size_t>(std::clamp<int64_t>(ReadHostMemory().free / 2, 1, kMost)),
          .checked = false};
}

}  // namespace

Result<std::vector<DeviceProperties>> ListDevices() {
  auto runtime = HostRuntime::Open(PlayedDevice());
  if (!runtime) return Forward(runtime);
  auto properties = (*runtime)->Properties();
  if (!properties) return Forward(properties);
  return std::vector{std::move(*properties)};
}

Result<std::unique_ptr<Nccl>> OpenNccl() {
  return Fail(ErrorCode::kUnsupported, "the host executor is no device that NCCL knows");
}

Result<std::unique_ptr<Runtime>> OpenDevice(int index) {
  if (index != 0) return Fail(ErrorCode::kNotFound, "the host executor plays device 0 only, not {}", index);
  return HostRuntime::Open(PlayedDevice());
}

}  // namespace inferflux::cuda
