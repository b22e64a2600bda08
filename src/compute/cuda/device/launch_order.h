// Kernels that begin while the one before them in the stream still runs (CUDA C++ programming guide, "Programmatic
// Dependent Launch and Synchronization"), which saves the time between two of them. On GPUs before sm_90, and on the
// host executor, they begin one after the other, and these calls do nothing.
#pragma once

#include "compute/cuda/device/language.h"

namespace inferflux::cuda {

// In a kernel that LaunchEarly starts, before anything that another kernel writes is read, and before anything is
// written: waits until the kernels before have ended (PTX ISA, section "griddepcontrol"). The next kernel may take its
// place on the device from now on.
__device__ inline void WaitForKernelsBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace inferflux::cuda
