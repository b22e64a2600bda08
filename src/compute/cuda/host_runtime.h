// The runtime interface on the host, for one host thread: kernels run on the host executor, memory is a protected
// range, cuBLASLt's place is taken by plain loops. For tests; it says so in its name.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "compute/cuda/host_executor/device_memory.h"
#include "compute/cuda/host_executor/executor.h"
#include "compute/cuda/host_streams.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

struct HostDevice {
  int compute_capability = 90;
  size_t memory_bytes = size_t{1} << 30;
  // Judge accesses, until a kernel runs that is not instrumented, and hide the device's memory from the host.
  bool checked = true;
  uint64_t seed = 1;  // of the order of streams, blocks and threads
  std::string uuid = {};
};

class HostRuntime final : public Runtime {
 public:
  static Result<std::unique_ptr<HostRuntime>> Open(const HostDevice& device);

  Result<DeviceProperties> Properties() override;
  Result<bool> CanAccessPeer(int) override { return false; }  // it is the only device

  Result<void*> Allocate(size_t bytes) override;
  Status Free(void* at) override;
  Result<void*> AllocatePinned(size_t bytes) override;
  Status FreePinned(void* at) override;
  Status CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) override;
  Status CopyToHost(void* to, const void* from, size_t bytes, Stream stream) override;
  Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) override;
  Status Fill(void* to, uint8_t value, size_t bytes, Stream stream) override;

  Result<Stream> CreateStream() override;
  Status Destroy(Stream stream) override;
  Status Synchronize(Stream stream) override;
  Result<Event> CreateEvent() override;
  Status Destroy(Event event) override;
  Status Record(Event event, Stream stream) override;
  Status Wait(Stream stream, Event event) override;
  Status Synchronize(Event event) override;
  Result<float> Milliseconds(Event from, Event to) override;

  Status BeginCapture(Stream stream) override;
  Result<Graph> EndCapture(Stream stream) override;
  Status Replay(Graph graph, Stream stream) override;
  Status Destroy(Graph graph) override;

  Status MatMul(const MatMulParams& params, Stream stream) override;

  // What a launch does: refuses what the architecture cannot run, and puts the rest on the stream.
  Status Enqueue(Stream stream, const executor::KernelCall& call);
  // The fault that ended a kernel, if one did.
  const std::optional<executor::Fault>& fault() const { return fault_; }
  // How often the host has waited for a stream or an event.
  int64_t waits() const { return waits_; }

 private:
  struct HostMemoryFree {
    void operator()(void* at) const { std::free(at); }
  };

  HostRuntime(const HostDevice& device, std::unique_ptr<executor::DeviceMemory> memory);

  // Work with the device's memory open.
  Status Put(Stream stream, std::function<Status()> work);

  HostDevice device_;
  executor::Settings settings_;
  std::unique_ptr<executor::DeviceMemory> memory_;
  std::unique_ptr<executor::MemoryCheck> check_;
  executor::Executor executor_;
  std::optional<executor::Fault> fault_;
  int64_t waits_ = 0;
  // Pinned memory ends with the runtime at the latest: a device that has failed refuses to free it.
  std::map<void*, std::unique_ptr<void, HostMemoryFree>> pinned_;
  HostStreams streams_;
};

// The same product with plain loops, sums in double: what MatMul puts on the stream. The memory is open.
Status HostMatMul(const MatMulParams& params, executor::DeviceMemory& memory);

}  // namespace inferflux::cuda
