// What the backend asks of NCCL, NVIDIA's collectives between devices, as one small interface: nccl_library.cpp hands
// it on to libnccl.so.2, which it opens at run time; host_nccl.cpp does it between host executors.
//
// Operations on data are work of a stream, and return before it is done. Counts are of floats in device memory. All
// ranks make the same calls in the same order with the same counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "collective/collective.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

// Names a communicator before it is there: rank 0 makes it, and the others get it.
struct NcclId {
  std::array<char, 128> bytes{};
};

// A rank's end of a communicator. Operations belong to one thread; AsyncError and Abort are for any.
class NcclCommunicator {
 public:
  virtual ~NcclCommunicator() = default;  // its work is done, or aborted

  virtual Result<int32_t> Size() = 0;

  virtual Status AllReduce(float* values, size_t count, collective::Reduction reduction, Stream stream) = 0;
  // all: [size * count], by rank.
  virtual Status AllGather(const float* own, float* all, size_t count, Stream stream) = 0;
  virtual Status Broadcast(float* values, size_t count, int32_t root, Stream stream) = 0;
  virtual Status Send(const float* values, size_t count, int32_t to, Stream stream) = 0;
  virtual Status Receive(float* values, size_t count, int32_t from, Stream stream) = 0;

  // What has failed meanwhile, on this rank or another.
  virtual Status AsyncError() = 0;
  // Ends work that waits for other ranks. The stream then reports the work as done, but its results are wrong: check
  // AsyncError after each wait for the stream. Later operations fail.
  virtual void Abort() = 0;
};

class Nccl {
 public:
  virtual ~Nccl() = default;

  virtual std::string version() const = 0;  // "2.27.3"
  virtual Result<NcclId> NewId() = 0;
  // Returns when all ranks have called it, on the device of the calling thread. Until then `alive` is asked again and
  // again; its error ends the wait.
  virtual Result<std::unique_ptr<NcclCommunicator>> Join(const NcclId& id, int32_t size, int32_t rank,
                                                         FunctionRef<Status()> alive) = 0;
};

// That of this build and machine. kUnsupported where there is none.
Result<std::unique_ptr<Nccl>> OpenNccl();
// The library of this name. kUnsupported if it is missing, or older than 2.18.
Result<std::unique_ptr<Nccl>> OpenNcclLibrary(const std::string& name);

}  // namespace inferflux::cuda
