#include "compute/cuda/host_executor/executor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "compute/cuda/host_executor/run.h"

namespace inferflux::cuda::executor {
namespace {

constexpr size_t kSlotBytes = 256 * 1024;  // above every architecture's limit
// A loop of plain accesses to one address gives the executor no occasion to run another thread.
constexpr int kMostAccessesInARow = 1000000;

uint64_t Threads(const Dim3& block) { return uint64_t{block.x} * block.y * block.z; }

tl::unexpected<Fault> Refuse(const KernelCall& call, std::string detail) {
  return tl::make_unexpected(Fault{.rule = Rule::kLaunchLimit,
                                   .kernel = FunctionName(call.function),
                                   .site = "launch",
                                   .detail = std::move(detail)});
}

}  // namespace

Outcome CheckLaunch(const KernelCall& call, const Limits& limits) {
  const Dim3& grid = call.grid;
  const Dim3& block = call.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) {
    return Refuse(call, "a grid and a block have at least one of each dimension");
  }
  if (block.x > Limits::kBlockX || block.y > Limits::kBlockY || block.z > Limits::kBlockZ ||
      Threads(block) > static_cast<uint64_t>(Limits::kThreads)) {
    return Refuse(call, fmt::format("a block of {} x {} x {} threads; it may have {}", block.x, block.y, block.z,
                                    Limits::kThreads));
  }
  if (grid.x > Limits::kGridX || grid.y > Limits::kGridY || grid.z > Limits::kGridZ) {
    return Refuse(call, fmt::format("a grid of {} x {} x {} blocks; it may have {} x {} x {}", grid.x, grid.y, grid.z,
                                    Limits::kGridX, Limits::kGridY, Limits::kGridZ));
  }
  if (call.arguments.size() > static_cast<size_t>(Limits::kArgumentBytes)) {
    return Refuse(call, fmt::format("{} bytes of parameters; a kernel may have {}", call.arguments.size(),
                                    Limits::kArgumentBytes));
  }
  if (call.shared_bytes > static_cast<uint64_t>(limits.shared_bytes)) {
    return Refuse(call, fmt::format("{} bytes of shared memory; a block of sm_{} may have {}", call.shared_bytes,
                                    limits.compute_capability, limits.shared_bytes));
  }
  return {};
}

Executor::~Executor() {
  for (const auto& slot : slots_) munmap(slot.data(), slot.size());
}

std::span<std::byte> Executor::Slot(unsigned number) {
  while (slots_.size() <= number) {
    void* memory = mmap(nullptr, kSlotBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    slots_.emplace_back(static_cast<std::byte*>(memory), kSlotBytes);
  }
  return slots_[number];
}

Outcome Executor::Execute(const KernelCall& call, const Settings& settings, MemoryCheck* check) {
  if (auto allowed = CheckLaunch(call, settings.limits); !allowed) return allowed;
  return Run(*this, call, settings, call.instrumented ? check : nullptr).ToTheEnd();
}

void OnInstrumentedAccess(const void* at, size_t bytes, Access access, bool aligned, const void* return_address) {
  if (!running.in_kernel) return;
  const OutOfKernel executor;
  Run& run = *running.run;
  if (run.check() == nullptr) return;
  Thread& thread = run.thread();
  if (auto violation = run.check()->OnAccess(thread, at, bytes, access, aligned)) {
    run.Raise(std::move(*violation), CodeLocation(return_address));
  }
  thread.accesses = thread.accessed == at ? thread.accesses + 1 : 0;
  thread.accessed = at;
  if (thread.accesses > kMostAccessesInARow) {
    run.Raise({Rule::kWaitsForOtherBlock, fmt::format("{} was accessed {} times in a row", at, thread.accesses)},
              CodeLocation(return_address));
  }
}

}  // namespace inferflux::cuda::executor
