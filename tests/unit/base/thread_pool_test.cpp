#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

namespace inferflux {
namespace {

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST(ThreadPoolTest, EveryIndexIsVisitedExactlyOnce) {
  for (const int workers : {1, 2, 3, 7}) {
    ThreadPool pool(workers);
    EXPECT_EQ(pool.workers(), workers);
    for (const int64_t count : {0, 1, 5, 64, 1000}) {
      for (const int64_t grain : {1, 3, 64, 5000}) {
        std::vector<int> visits(static_cast<size_t>(count), 0);
        pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end, int worker) {
          ASSERT_GE(worker, 0);
          ASSERT_LT(worker, workers);
          ASSERT_LE(end - begin, grain);
          for (int64_t i = begin; i < end; ++i) ++visits[i];
        });
        EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), count);
      }
    }
  }
}

// The next round and the caller read what one round wrote, so no barrier may be missing. TSan checks this too.
TEST(ThreadPoolTest, RoundsAreOrdered) {
  ThreadPool pool(3);
  std::vector<int64_t> values(100, 0);
  for (int round = 0; round < 2000; ++round) {
    pool.ParallelFor(100, 7, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) values[i] += 1;
    });
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 100 * 2000);
}

TEST(ThreadPoolTest, RunCallsTheCallerAndNoWorkerTwiceAtOnce) {
  ThreadPool pool(3);
  for (int round = 0; round < 500; ++round) {
    std::array<std::atomic<int>, 3> inside{};
    std::atomic<int> caller{0};
    pool.Run([&](int worker) {
      EXPECT_EQ(inside[worker].fetch_add(1), 0);
      if (worker == 0) ++caller;
      inside[worker].fetch_sub(1);
    });
    EXPECT_EQ(caller.load(), 1);
  }
}

TEST(ThreadPoolTest, SeveralThreadsTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> engines;
  for (int e = 0; e < 4; ++e) {
    engines.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool.ParallelFor(50, 5, [&](int64_t begin, int64_t end, int) { total += end - begin; });
      }
    });
  }
  for (auto& engine : engines) engine.join();
  EXPECT_EQ(total.load(), 4 * 200 * 50);
}

TEST(ThreadPoolTest, AnIdlePoolSleeps) {
  ThreadPool pool(4);
  pool.ParallelFor(100, 1, [](int64_t, int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // long enough for the workers to sleep
  const double before = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(CpuSeconds() - before, 0.005);
  std::atomic<int> visits{0};  // the pool wakes again
  pool.ParallelFor(100, 1, [&](int64_t, int64_t, int) { ++visits; });
  EXPECT_EQ(visits.load(), 100);
}

TEST(ThreadPoolTest, AStuckWorkerDoesNotHoldUpTheRest) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  std::atomic<bool> first{true};
  // One chunk takes as long as 50 others. With fixed shares, 50 chunks would wait for the slow worker.
  pool.ParallelFor(100, 1, [&](int64_t, int64_t, int) {
    if (first.exchange(false)) {
      while (done.load() < 99) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done.load(), 100);
}

// Every worker is needed in each round, so each must wake, also from its sleep, and none may come twice.
TEST(ThreadPoolTest, EveryWorkerComesOnceARound) {
  constexpr int kWorkers = 4;
  ThreadPool pool(kWorkers);
  for (const int pause : {0, 0, 1, 5, 50, 0}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    std::array<std::atomic<int>, kWorkers> calls{};
    std::atomic<int> arrived{0};
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    pool.Run([&](int worker) {
      ++calls[worker];
      ++arrived;
      while (arrived.load() < kWorkers && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
      if (worker == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the round stays open
    });
    for (int worker = 0; worker < kWorkers; ++worker) EXPECT_EQ(calls[worker].load(), 1) << worker << ", " << pause;
  }
}

TEST(ThreadPoolTest, TheCallerWaitsForWhoeverIsInside) {
  ThreadPool pool(2);
  std::atomic<bool> inside{false}, done{false};
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pool.Run([&](int worker) {
    if (worker == 0) {
      while (!inside.load() && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
      return;
    }
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    done = true;
  });
  EXPECT_TRUE(done.load());
}

TEST(ThreadPoolTest, OneChunkIsTheCallersOwn) {
  struct Call {
    int64_t begin, end;
    int worker;
    std::thread::id thread;
    bool operator==(const Call&) const = default;
  };
  ThreadPool pool(3), alone(1);
  std::vector<Call> calls;
  const auto note = [&](int64_t begin, int64_t end, int worker) {
    calls.push_back({begin, end, worker, std::this_thread::get_id()});
  };
  const std::thread::id self = std::this_thread::get_id();
  pool.ParallelFor(5, 5, note);
  EXPECT_EQ(calls, (std::vector<Call>{{0, 5, 0, self}}));
  pool.ParallelFor(0, 5, note);
  pool.ParallelFor(-1, 5, note);
  EXPECT_EQ(calls.size(), 1u) << "nothing to do";
  calls.clear();
  alone.ParallelFor(3, -1, note);
  EXPECT_EQ(calls, (std::vector<Call>{{0, 1, 0, self}, {1, 2, 0, self}, {2, 3, 0, self}}))
      << "a chunk has one at least";
  std::vector<int> workers;
  alone.Run([&](int worker) { workers.push_back(worker); });
  EXPECT_EQ(workers, std::vector<int>{0});
}

TEST(UsableCoresTest, IsWithinTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(UsableCores(), 1);
  EXPECT_LE(UsableCores(), CPU_COUNT(&before));
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(UsableCores(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace inferflux
