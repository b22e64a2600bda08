// What Launch needs of CUDA's runtime.
#pragma once

#include <cuda_runtime_api.h>

#include "base/result.h"

namespace inferflux::cuda {

inline tl::unexpected<Error> CudaFailure(cudaError_t code, const char* what) {
  (void)cudaGetLastError();  // CUDA keeps it, and the next launch, of a step that goes on without, would be blamed
  const bool memory = code == cudaErrorMemoryAllocation;
  return Fail(memory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, "{}: {}: {}", what, cudaGetErrorName(code),
              cudaGetErrorString(code));
}

// A kernel may use more than 48 KiB of shared memory only after this.
inline Status AllowSharedBytes(const void* kernel, size_t bytes) {
  if (bytes <= 48 * 1024) return {};
  const cudaError_t code =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (code != cudaSuccess) return CudaFailure(code, "the shared memory of a kernel");
  return {};
}

// What the launch just before was refused for.
inline Status LaunchStatus() {
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return CudaFailure(code, "a launch");
  return {};
}

}  // namespace inferflux::cuda
