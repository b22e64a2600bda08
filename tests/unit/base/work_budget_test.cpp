#include "base/work_budget/work_budget.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <stop_token>
#include <string>
#include <thread>

namespace inferflux {
namespace {

using namespace std::chrono_literals;
using End = WorkBudget::End;

// Works until the budget ends; gives up after `rounds`.
uint64_t WorkOn(uint64_t rounds) {
  uint64_t done = 0;
  volatile uint64_t sink = 0;
  for (; done < rounds && !WorkBudget::Spent(); ++done) sink = sink + done;
  return done;
}

constexpr uint64_t kForever = uint64_t{1} << 40;

TEST(WorkBudget, AThreadWithoutOneHasNoLimit) {
  EXPECT_EQ(WorkOn(100'000), 100'000u);
  EXPECT_TRUE(WorkBudget::Check());
}

TEST(WorkBudget, ProcessorTimeEndsIt) {
  WorkBudget budget({.cpu = 20ms});
  const auto before = ThreadCpuTime();
  EXPECT_LT(WorkOn(kForever), kForever);
  const auto used = ThreadCpuTime() - before;
  EXPECT_GE(used, 15ms);
  EXPECT_LT(used, 1s);
  EXPECT_EQ(budget.end(), End::kCpu);
  EXPECT_TRUE(WorkBudget::Spent()) << "it stays spent";
  const Status status = WorkBudget::Check();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(status.error().message.find("20 ms"), std::string::npos);
}

TEST(WorkBudget, SleepIsNotProcessorTimeButMeetsTheDeadline) {
  WorkBudget cpu({.cpu = 30ms});
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(cpu.end(), End::kNone);
  WorkBudget deadline({.deadline = std::chrono::steady_clock::now() - 1ms});
  EXPECT_LT(WorkOn(kForever), kForever);
  EXPECT_EQ(deadline.end(), End::kDeadline);
  EXPECT_EQ(deadline.status().error().code, ErrorCode::kUnavailable);
}

TEST(WorkBudget, AStopFromAnotherThreadEndsIt) {
  std::stop_source source;
  std::jthread other([&] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
  WorkBudget budget({.stop = source.get_token()});
  EXPECT_LT(WorkOn(kForever), kForever);
  EXPECT_EQ(budget.end(), End::kStopped);
  EXPECT_EQ(budget.status().error().code, ErrorCode::kCancelled);
}

TEST(WorkBudget, SaysWhatEndedIt) {
  const auto past = std::chrono::steady_clock::now() - 1ms;
  std::stop_source stopped;
  stopped.request_stop();
  const auto why = [](WorkBudget& budget) { return budget.status() ? "" : budget.status().error().message; };
  WorkBudget none({});
  EXPECT_EQ(none.end(), End::kNone);
  EXPECT_EQ(why(none), "");
  WorkBudget later({.deadline = std::chrono::steady_clock::now() + 1h});
  EXPECT_EQ(later.end(), End::kNone);
  WorkBudget least({.cpu = 1ms});
  EXPECT_LT(WorkOn(kForever), kForever);
  EXPECT_EQ(why(least), "the work takes more than 1 ms of processor time");
  WorkBudget late({.deadline = past});
  EXPECT_EQ(why(late), "the work was not done by its deadline");
  WorkBudget left({.deadline = past, .stop = stopped.get_token()});
  EXPECT_EQ(why(left), "the client left before the work was done") << "no one waits for it any more";
}

TEST(WorkBudget, TheTimeBeforeItDoesNotCount) {
  {
    WorkBudget before({.cpu = 100ms});
    EXPECT_LT(WorkOn(kForever), kForever);
  }
  WorkBudget next({.cpu = 100ms});
  EXPECT_EQ(next.end(), End::kNone);
}

TEST(WorkBudget, ProcessorTimeIsThatOfTheThreadsClock) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::nanoseconds(time.tv_sec * 1'000'000'000 + time.tv_nsec);
  };
  const auto before = now();
  const auto between = ThreadCpuTime();
  EXPECT_LE(before, between);
  EXPECT_LE(between, now());
}

TEST(WorkBudget, IsOfOneThreadAndOneScope) {
  WorkBudget spent({.deadline = std::chrono::steady_clock::now() - 1ms});
  EXPECT_EQ(spent.end(), End::kDeadline);
  EXPECT_TRUE(WorkBudget::Spent());
  std::jthread([&] { EXPECT_FALSE(WorkBudget::Spent()); }).join();
  {
    WorkBudget inner({.cpu = 10s});
    EXPECT_FALSE(WorkBudget::Spent(1'000'000));
  }
  EXPECT_TRUE(WorkBudget::Spent());
}

}  // namespace
}  // namespace inferflux
