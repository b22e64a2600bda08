// The ranks of a model as devices that NCCL connects. A thread watches them: when a rank is lost, work that waits for
// it is aborted, so that no wait of the host's lasts for ever.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "collective/collective.h"
#include "compute/cuda/nccl/nccl.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

class DeviceRanks {
 public:
  // The communicator is of all ranks.
  DeviceRanks(std::shared_ptr<collective::Collective> ranks, std::unique_ptr<NcclCommunicator> communicator);
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;
  ~DeviceRanks();

  int32_t size() const { return ranks_->size(); }

  // For operations, which belong to one thread.
  NcclCommunicator& communicator() { return *communicator_; }

  // The first failure. After a wait for the stream: whether its results are what they should be. Any thread.
  Status Check() const;

 private:
  void Watch();

  std::shared_ptr<collective::Collective> ranks_;
  std::unique_ptr<NcclCommunicator> communicator_;
  mutable std::mutex mutex_;  // guards the next two
  Status failed_;
  bool ending_ = false;
  std::condition_variable ends_;
  std::thread watch_;
};

// How a rank's device is connected.
struct RankLink {
  std::unique_ptr<DeviceRanks> devices;  // null: over the host
  std::string nccl;                      // its version; empty: it is not used,
  std::string why;                       //   for this reason; empty: that was wanted
};

using NcclOpener = std::function<Result<std::unique_ptr<Nccl>>()>;

// All ranks call it with the same `wanted`: "auto" uses NCCL where every rank has it and a device of its own, "nccl"
// fails otherwise, and "host" does not ask. kInvalidArgument for other words. One rank has nothing to connect.
// The stream is of the runtime's device, and the calling thread's.
Result<RankLink> LinkRanks(const std::shared_ptr<collective::Collective>& ranks, Runtime& runtime, Stream stream,
                           const NcclOpener& open, const std::string& wanted);

}  // namespace inferflux::cuda
