#include "collective/shared_memory/waiting.h"

#include <sched.h>
#include <time.h>

#include <chrono>
#include <climits>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace inferflux::collective {
namespace {

constexpr auto kBusy = std::chrono::microseconds(100);  // longer than a sum takes; shorter than two steps are apart
constexpr long kCheckNanoseconds = 20'000'000;          // between two looks whether the others are alive

void Sleep(SharedCounter& counter, uint32_t seen) {
#ifdef __linux__
  const timespec most{.tv_sec = 0, .tv_nsec = kCheckNanoseconds};
  ::syscall(SYS_futex, &counter.value, FUTEX_WAIT, seen, &most, nullptr, 0);
#else
  (void)counter, (void)seen;
  const timespec most{.tv_sec = 0, .tv_nsec = 200'000};  // there is nothing portable to wait for
  ::nanosleep(&most, nullptr);
#endif
}

}  // namespace

Status WaitFor(SharedCounter& counter, uint32_t target, FunctionRef<Status()> check) {
  for (int i = 0; i < 200; ++i) {
    if (Reached(counter.value.load(std::memory_order_acquire), target)) return {};
  }
  for (const auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < kBusy;) {
    if (Reached(counter.value.load(std::memory_order_acquire), target)) return {};
    ::sched_yield();
  }
  while (true) {
    // Sequentially consistent, as in Publish: either this sees the new value, or Publish sees a sleeper.
    counter.sleepers.fetch_add(1);
    const uint32_t seen = counter.value.load();
    Status alive;
    if (!Reached(seen, target)) {
      alive = check();
      if (alive) Sleep(counter, seen);
    }
    counter.sleepers.fetch_sub(1);
    if (Reached(counter.value.load(std::memory_order_acquire), target)) return {};
    if (!alive) return alive;
  }
}

void Publish(SharedCounter& counter, uint32_t value) {
  counter.value.store(value);
  if (counter.sleepers.load() > 0) WakeAll(counter);
}

void WakeAll(SharedCounter& counter) {
#ifdef __linux__
  ::syscall(SYS_futex, &counter.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
#else
  (void)counter;
#endif
}

}  // namespace inferflux::collective
