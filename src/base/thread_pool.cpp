#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace inferflux {
namespace {

constexpr uint64_t kClosed = uint64_t{1} << 31;
constexpr uint64_t kInside = kClosed - 1;

uint32_t RoundOf(uint64_t gate) { return static_cast<uint32_t>(gate >> 32); }

constexpr int kSpins = 2000;                             // tens of microseconds: the gap between two operations
constexpr auto kAwake = std::chrono::microseconds(500);  // the gap between two steps

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int workers) : gate_(kClosed) {
  for (int worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { WorkerLoop(worker); });
}

ThreadPool::~ThreadPool() {
  const std::lock_guard lock(turn_);
  stop_.store(true);
  round_.fetch_add(1);
  gate_.store(kClosed | uint64_t{round_.load()} << 32);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(FunctionRef<void(int)> body) {
  if (threads_.empty()) return body(0);
  const std::lock_guard lock(turn_);
  body_ = &body;
  const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  gate_.store(uint64_t{round} << 32, std::memory_order_release);
  round_.store(round);
  round_.notify_all();  // no system call if no worker sleeps

  [&]() noexcept { body(0); }();

  // A worker that is not inside by now finds the gate closed. Those inside finish their chunks.
  gate_.fetch_or(kClosed, std::memory_order_acq_rel);
  for (int spins = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++spins) {
    if (spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();  // that worker may need this core
    }
  }
}

void ThreadPool::ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t, int)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  if (count <= grain) return body(0, count, 0);
  std::atomic<int64_t> next{0};
  Run([&](int worker) {
    for (int64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < count;) {
      body(begin, std::min(count, begin + grain), worker);
    }
  });
}

uint32_t ThreadPool::AwaitRound(uint32_t seen) {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (const uint32_t round = round_.load(std::memory_order_acquire); round != seen) return round;
    Pause();
  }
  const auto deadline = std::chrono::steady_clock::now() + kAwake;
  while (std::chrono::steady_clock::now() < deadline) {
    if (const uint32_t round = round_.load(std::memory_order_acquire); round != seen) return round;
    std::this_thread::yield();
  }
  round_.wait(seen);
  return round_.load();
}

void ThreadPool::WorkerLoop(int worker) {
  for (uint32_t seen = 0; !stop_.load();) {
    seen = AwaitRound(seen);
    uint64_t gate = gate_.load(std::memory_order_acquire);
    while ((gate & kClosed) == 0 && !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
    }
    if ((gate & kClosed) != 0) continue;
    seen = RoundOf(gate);  // the gate may have moved on since; a worker enters a round once
    [&]() noexcept { (*body_)(worker); }();
    gate_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

}  // namespace inferflux
