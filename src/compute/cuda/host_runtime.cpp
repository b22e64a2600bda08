#include "compute/cuda/host_runtime.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "compute/cuda/host_executor/pack_call.h"

namespace inferflux::cuda {
namespace {

HostStream* Native(Stream stream) { return static_cast<HostStream*>(stream.native); }
HostEvent* Native(Event event) { return static_cast<HostEvent*>(event.native); }
auto* Native(Graph graph) { return static_cast<std::vector<HostWork>*>(graph.native); }

}  // namespace

Result<std::unique_ptr<HostRuntime>> HostRuntime::Open(const HostDevice& device) {
  if (!executor::LimitsOf(device.compute_capability)) {
    return Fail(ErrorCode::kInvalidArgument, "the host executor plays sm_80, 86, 89, 90, 100 and 120, not sm_{}",
                device.compute_capability);
  }
  auto memory = executor::DeviceMemory::Reserve(device.memory_bytes, device.checked);
  if (!memory) return Forward(memory);
  return std::unique_ptr<HostRuntime>(new HostRuntime(device, std::move(*memory)));
}

HostRuntime::HostRuntime(const HostDevice& device, std::unique_ptr<executor::DeviceMemory> memory)
    : device_(device),
      settings_{.limits = *executor::LimitsOf(device.compute_capability), .seed = device.seed},
      memory_(std::move(memory)),
      streams_(device.seed) {
  if (memory_->shadow() != nullptr) check_ = std::make_unique<executor::MemoryCheck>(*memory_->shadow());
}

Result<DeviceProperties> HostRuntime::Properties() {
  return DeviceProperties{.name = "cuda (host executor, for tests)",
                          .gpu = false,
                          .compute_capability = device_.compute_capability,
                          .multiprocessors = 4,
                          .total_bytes = static_cast<int64_t>(memory_->total()),
                          .free_bytes = static_cast<int64_t>(memory_->total() - memory_->used()),
                          .shared_bytes = settings_.limits.shared_bytes,
                          .uuid = device_.uuid};
}

Result<void*> HostRuntime::Allocate(size_t bytes) {
  if (auto allowed = streams_.RefuseInCapture("an allocation"); !allowed) return Forward(allowed);
  return memory_->Allocate(bytes);
}

Status HostRuntime::Free(void* at) {
  if (auto allowed = streams_.RefuseInCapture("freeing memory"); !allowed) return allowed;
  if (auto idle = streams_.SynchronizeAll(); !idle) return idle;  // as cudaFree does
  return memory_->Free(at);
}

Result<void*> HostRuntime::AllocatePinned(size_t bytes) {
  if (auto allowed = streams_.RefuseInCapture("an allocation"); !allowed) return Forward(allowed);
  std::unique_ptr<void, HostMemoryFree> memory(std::malloc(bytes));
  void* at = memory.get();
  if (at == nullptr) return Fail(ErrorCode::kResourceExhausted, "no {} bytes of host memory", bytes);
  pinned_.emplace(at, std::move(memory));
  return at;
}

Status HostRuntime::FreePinned(void* at) {
  if (auto allowed = streams_.RefuseInCapture("freeing memory"); !allowed) return allowed;
  if (pinned_.erase(at) == 0) return Fail(ErrorCode::kInvalidArgument, "no such pinned memory");
  return {};
}

Status HostRuntime::Put(Stream stream, std::function<Status()> work) {
  return streams_.Put(Native(stream), [this, work = std::move(work)]() -> Status {
    memory_->SetOpen(true);
    auto done = work();
    memory_->SetOpen(false);
    return done;
  });
}

Status HostRuntime::CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) {
  if (auto inside = memory_->CheckRange(to, bytes); !inside) return inside;
  return Put(stream, [this, to, from, bytes]() -> Status {
    if (auto live = memory_->CheckRange(to, bytes); !live) return live;
    std::memcpy(to, from, bytes);
    memory_->MarkWritten(to, bytes);
    return {};
  });
}

Status HostRuntime::CopyToHost(void* to, const void* from, size_t bytes, Stream stream) {
  if (auto inside = memory_->CheckRange(from, bytes); !inside) return inside;
  return Put(stream, [this, to, from, bytes]() -> Status {
    if (auto written = memory_->CheckWritten(from, bytes); !written) return written;
    std::memcpy(to, from, bytes);
    return {};
  });
}

Status HostRuntime::CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) {
  if (auto inside = memory_->CheckRange(from, bytes); !inside) return inside;
  if (auto inside = memory_->CheckRange(to, bytes); !inside) return inside;
  return Put(stream, [this, to, from, bytes]() -> Status {
    if (auto written = memory_->CheckWritten(from, bytes); !written) return written;
    if (auto live = memory_->CheckRange(to, bytes); !live) return live;
    std::memmove(to, from, bytes);
    memory_->MarkWritten(to, bytes);
    return {};
  });
}

Status HostRuntime::Fill(void* to, uint8_t value, size_t bytes, Stream stream) {
  if (auto inside = memory_->CheckRange(to, bytes); !inside) return inside;
  return Put(stream, [this, to, value, bytes]() -> Status {
    if (auto live = memory_->CheckRange(to, bytes); !live) return live;
    std::memset(to, value, bytes);
    memory_->MarkWritten(to, bytes);
    return {};
  });
}

Result<Stream> HostRuntime::CreateStream() { return Stream{streams_.Create(this)}; }
Status HostRuntime::Destroy(Stream stream) { return streams_.Destroy(Native(stream)); }
Status HostRuntime::Synchronize(Stream stream) {
  ++waits_;
  return streams_.Synchronize(Native(stream));
}
Result<Event> HostRuntime::CreateEvent() { return Event{streams_.CreateEvent()}; }
Status HostRuntime::Destroy(Event event) { return streams_.Destroy(Native(event)); }
Status HostRuntime::Record(Event event, Stream stream) { return streams_.Record(Native(event), Native(stream)); }
Status HostRuntime::Wait(Stream stream, Event event) { return streams_.Wait(Native(stream), Native(event)); }
Status HostRuntime::Synchronize(Event event) {
  ++waits_;
  return streams_.Synchronize(Native(event));
}

Result<float> HostRuntime::Milliseconds(Event from, Event to) {
  const HostEvent& first = *Native(from);
  const HostEvent& second = *Native(to);
  if (first.records == 0 || second.records == 0 || first.done < first.records || second.done < second.records) {
    return Fail(ErrorCode::kInvalidArgument, "time is told between two events that have happened");
  }
  return std::chrono::duration<float, std::milli>(second.at - first.at).count();
}

Status HostRuntime::BeginCapture(Stream stream) { return streams_.BeginCapture(Native(stream)); }

Result<Graph> HostRuntime::EndCapture(Stream stream) {
  auto graph = streams_.EndCapture(Native(stream));
  if (!graph) return Forward(graph);
  return Graph{*graph};
}

Status HostRuntime::Replay(Graph graph, Stream stream) { return streams_.Replay(Native(graph), Native(stream)); }
Status HostRuntime::Destroy(Graph graph) { return streams_.Destroy(Native(graph)); }

Status HostRuntime::MatMul(const MatMulParams& params, Stream stream) {
  if (auto allowed = CheckMatMul(params); !allowed) return allowed;
  return Put(stream, [this, params] { return HostMatMul(params, *memory_); });
}

Status HostRuntime::Enqueue(Stream stream, const executor::KernelCall& call) {
  if (auto allowed = executor::CheckLaunch(call, settings_.limits); !allowed) {
    return tl::make_unexpected(executor::ToError(allowed.error()));
  }
  std::vector<std::byte> arguments(call.arguments.begin(), call.arguments.end());
  return Put(stream, [this, call, arguments = std::move(arguments)]() -> Status {
    executor::KernelCall owned = call;
    owned.arguments = arguments;
    ++settings_.seed;
    if (!call.instrumented) {  // its writes are not recorded: from here on no access can be checked
      check_.reset();
      memory_->DropShadow();
    }
    if (auto done = executor_.Execute(owned, settings_, check_.get()); !done) {
      fault_ = done.error();
      return tl::make_unexpected(executor::ToError(done.error()));
    }
    return {};
  });
}

namespace executor {

Status Enqueue(Stream stream, const KernelCall& call) {
  if (stream.native == nullptr) return Fail(ErrorCode::kInvalidArgument, "a launch without a stream");
  return Native(stream)->runtime->Enqueue(stream, call);
}

}  // namespace executor

}  // namespace inferflux::cuda
