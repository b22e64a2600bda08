// Runs kernels on the host, stricter than a GPU would: threads are fibers, their order is random by a seed, and a rule
// that is broken ends the launch with a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compute/cuda/host_executor/fault.h"
#include "compute/cuda/host_executor/limits.h"
#include "compute/cuda/host_executor/memory_check/memory_check.h"

namespace inferflux::cuda::executor {

struct KernelCall {
  const void* function = nullptr;                   // for its name
  void (*invoke)(const void* arguments) = nullptr;  // one thread of it
  std::span<const std::byte> arguments;             // trivially copyable; each thread gets its own copy
  size_t arguments_alignment = 1;
  Dim3 grid, block;
  size_t shared_bytes = 0;
  bool instrumented = false;  // compiled with -fsanitize=thread
};

struct Settings {
  Limits limits;
  uint64_t seed = 1;             // of the order in which threads run
  unsigned resident_blocks = 3;  // at most as many blocks run at a time, interleaved
};

// Only what the architecture refuses before a kernel runs.
Outcome CheckLaunch(const KernelCall& call, const Limits& limits);

// Keeps the stacks and the shared memory that launches use one after the other.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Runs a grid to its end. `check` may be null; accesses are judged where the kernel is instrumented too.
  Outcome Execute(const KernelCall& call, const Settings& settings, MemoryCheck* check);

 private:
  friend class Run;

  // Shared memory of a block with this number of those that run at a time. Empty where there is no memory left.
  std::span<std::byte> Slot(unsigned number);

  StackPool stacks_;
  std::vector<std::span<std::byte>> slots_;
};

// Called for each access of instrumented code; does nothing where no kernel runs.
void OnInstrumentedAccess(const void* at, size_t bytes, Access access, bool aligned, const void* return_address);

}  // namespace inferflux::cuda::executor
