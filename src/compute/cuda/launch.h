// Starts a kernel on a stream: Launch(kernel, grid, block, shared_bytes, stream, arguments...), or LaunchEarly with the
// same arguments.
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/result.h"
#include "compute/cuda/device/language.h"
#include "compute/cuda/runtime.h"

#ifdef __CUDACC__
#include "compute/cuda/cuda_launch.h"
#else
#include "compute/cuda/host_executor/pack_call.h"
#endif

namespace inferflux::cuda {

// `shared_bytes` is what SharedMemory gives each block. Launches are asynchronous: what goes wrong in a kernel is an
// error of a later call, at the latest of Synchronize.
template <class... P, class... Arguments>
Status Launch(void (*kernel)(P...), Dim3 grid, Dim3 block, size_t shared_bytes, Stream stream, Arguments... arguments) {
  static_assert((std::is_trivially_copyable_v<P> && ...), "a kernel's parameters are copied byte by byte");
#ifdef __CUDACC__
  if (auto allowed = AllowSharedBytes(reinterpret_cast<const void*>(kernel), shared_bytes); !allowed) return allowed;
  kernel<<<dim3(grid.x, grid.y, grid.z), dim3(block.x, block.y, block.z), shared_bytes,
           static_cast<cudaStream_t>(stream.native)>>>(static_cast<P>(arguments)...);
  return LaunchStatus();
#else
  const auto packed = executor::PackCall(kernel, grid, block, shared_bytes, static_cast<P>(arguments)...);
  return executor::Enqueue(stream, packed.call());
#endif
}

// The same of a kernel that calls WaitForKernelsBefore (device/launch_order.h).
template <class... P, class... Arguments>
Status LaunchEarly(void (*kernel)(P...), Dim3 grid, Dim3 block, size_t shared_bytes, Stream stream,
                   Arguments... arguments) {
#ifdef __CUDACC__
  if (auto allowed = AllowSharedBytes(reinterpret_cast<const void*>(kernel), shared_bytes); !allowed) return allowed;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.x, grid.y, grid.z);
  config.blockDim = dim3(block.x, block.y, block.z);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream.native);
  config.attrs = &early;
  config.numAttrs = 1;
  const cudaError_t code = cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...);
  if (code != cudaSuccess) return CudaFailure(code, "a launch");
  return {};
#else
  return Launch(kernel, grid, block, shared_bytes, stream, arguments...);
#endif
}

}  // namespace inferflux::cuda
