// A launch under way, as the executor's own sources see it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compute/cuda/host_executor/device_calls.h"
#include "compute/cuda/host_executor/executor.h"

namespace inferflux::cuda::executor {

class Run {
 public:
  Run(Executor& executor, const KernelCall& call, const Settings& settings, MemoryCheck* check)
      : executor_(executor), call_(call), settings_(settings), check_(check), random_(settings.seed) {}

  Outcome ToTheEnd();

  // --- from a thread of the kernel ---
  // Ends the launch.
  [[noreturn]] void Raise(Rule rule, Site site, std::string detail);
  [[noreturn]] void Raise(Violation violation, std::string site);
  // Lets others run; the thread is ready unless its state says that it waits.
  void Yield();
  void Wake(Thread& thread);
  // Passes an access of the executor's own, in the kernel's name, on to the memory check.
  void Check(const void* at, size_t bytes, Access access, Site site);
  // Counts a thread's atomic operations that find the same value again. From the second on only its own block runs, so
  // that a thread which waits for another block never gets its value, and is found.
  void Poll(const void* at, uint64_t value, Site site);

  Thread& thread() { return *thread_; }
  MemoryCheck* check() { return check_; }
  const KernelCall& call() const { return call_; }

 private:
  bool Begin(unsigned slot, unsigned number);
  Thread* Next();
  void OnExit(Thread& thread);
  Fault At(const Thread& thread, Rule rule, std::string site, std::string detail) const;
  Fault Stuck() const;
  uint64_t Random(uint64_t below);
  static void Body(void* thread);

  Executor& executor_;
  const KernelCall& call_;
  const Settings& settings_;
  MemoryCheck* const check_;
  uint64_t random_;
  std::vector<std::unique_ptr<Block>> slots_;  // the blocks under way
  std::vector<Thread*> ready_;
  Thread* thread_ = nullptr;     // that runs
  const Block* only_ = nullptr;  // whose threads may run, while one of them polls
  std::optional<Fault> fault_;
};

// The launch that runs on this host thread, and whether it is in the kernel's code rather than in the executor's.
struct Running {
  Run* run = nullptr;
  bool in_kernel = false;
};
extern thread_local Running running;

// While it exists, accesses of instrumented code are the executor's own.
class OutOfKernel {
 public:
  OutOfKernel() { running.in_kernel = false; }
  OutOfKernel(const OutOfKernel&) = delete;
  OutOfKernel& operator=(const OutOfKernel&) = delete;
  ~OutOfKernel() { running.in_kernel = true; }
};

}  // namespace inferflux::cuda::executor
