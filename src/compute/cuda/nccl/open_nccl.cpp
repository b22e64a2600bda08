// NCCL of a build for GPUs; host_devices.cpp has that of the host executor.
#include "compute/cuda/nccl/nccl.h"

namespace inferflux::cuda {

Result<std::unique_ptr<Nccl>> OpenNccl() { return OpenNcclLibrary("libnccl.so.2"); }

}  // namespace inferflux::cuda
