// NCCL's place between host executors whose ranks are threads of one process. For tests.
//
// An operation is done before its call returns, because a host executor runs nothing while its thread waits elsewhere.
// What is as NCCL's: an aborted operation ends without an error, and leaves its buffers as they were.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compute/cuda/host_runtime.h"
#include "compute/cuda/nccl/nccl.h"

namespace inferflux::cuda {

// Where ranks meet: one object for all of them. Any thread.
class HostNcclNetwork {
 public:
  HostNcclNetwork();
  ~HostNcclNetwork();

  // From now on AsyncError of every rank says this.
  void Break(const std::string& why);
  // Size() says so many ranks, whatever there are; 0: as many as there are.
  void PretendSize(int32_t size);
  int operations() const;  // of all ranks, that have begun
  int aborts() const;

 private:
  friend class HostNccl;
  friend class HostNcclCommunicator;
  struct State;
  std::unique_ptr<State> state_;
};

class HostNccl final : public Nccl {
 public:
  // Of the rank that runs on this device.
  HostNccl(std::shared_ptr<HostNcclNetwork> network, HostRuntime& runtime)
      : network_(std::move(network)), runtime_(runtime) {}

  std::string version() const override { return "0.0.0 (host executor, for tests)"; }
  Result<NcclId> NewId() override;
  Result<std::unique_ptr<NcclCommunicator>> Join(const NcclId& id, int32_t size, int32_t rank,
                                                 FunctionRef<Status()> alive) override;

 private:
  std::shared_ptr<HostNcclNetwork> network_;
  HostRuntime& runtime_;
};

}  // namespace inferflux::cuda
