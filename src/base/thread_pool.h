// The persistent compute pool. A process has one; its main owns it and lends it to engines.
//
// Workers claim chunks; there are no fixed shares. A core that another process occupies therefore delays only its own
// chunk. The caller takes part and does not wait for a worker that wakes late. Idle workers spin briefly, because the
// next operation of a step follows within microseconds, then sleep.
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
  // caller's own call returns. So the body must claim its work from shared state. Returns when all calls have returned.
  // Concurrent callers of one pool wait for each other. A body must not use its own pool. A body that throws ends the
  // program.
  void Run(FunctionRef<void(int worker)> body);

  // Calls body(begin, end, worker) for [0, count) in chunks of `grain`. A single chunk runs on the caller alone.
  void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end, int worker)> body);

 private:
  void WorkerLoop(int worker);
  // Spins, then yields, then sleeps until the gate shows another round than `seen`. Returns that round.
  uint32_t AwaitRound(uint32_t seen);

  std::mutex turn_;
  // One word holds the round, whether it still admits workers, and how many are inside: [round:32 closed:1 inside:31].
  alignas(64) std::atomic<uint64_t> gate_;
  const FunctionRef<void(int)>* body_ = nullptr;  // of the open round
  alignas(64) std::atomic<uint32_t> round_{0};    // sleepers wait on this
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace inferflux
