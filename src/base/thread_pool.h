// The persistent compute pool: one a process, owned by its main, lent to engines.
//
// Work is claimed in chunks, never dealt out in fixed shares, so a core that another process took only slows the chunk
// that it was on. The caller takes part; a worker that does not wake in time is not waited for. Idle workers spin for a
// moment, because the next operation of a step follows within microseconds, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "base/usable_cores.h"

namespace inferflux {

class ThreadPool {
 public:
  // `workers` counts the caller: ThreadPool(1) starts no thread.
  explicit ThreadPool(int workers = UsableCores());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls body(worker) on the caller, as worker 0, and at the same time on every other worker that arrives before the
  // caller's own call returns: the body must claim its work from something shared. Returns when all calls have. Callers
  // of one pool take turns; a body must not use its own pool. A body that throws ends the program.
  void Run(FunctionRef<void(int worker)> body);

  // Calls body(begin, end, worker) for [0, count) cut into chunks of `grain`. One chunk runs on the caller alone.
  void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end, int worker)> body);

 private:
  void WorkerLoop(int worker);
  // Spins, then yields, then sleeps until the gate shows a round other than `seen`. Returns that round.
  uint32_t AwaitRound(uint32_t seen);

  std::mutex turn_;
  // One word says which round it is, whether it still takes workers, and how many are inside: [round:32 closed:1
  // inside:31].
  alignas(64) std::atomic<uint64_t> gate_;
  const FunctionRef<void(int)>* body_ = nullptr;  // of the open round
  alignas(64) std::atomic<uint32_t> round_{0};    // what sleepers wait on
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace inferflux
