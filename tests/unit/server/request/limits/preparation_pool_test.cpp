#include "server/request/limits/preparation_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/work_budget/work_budget.h"
#include "server/batches/captured_reply.h"

namespace inferflux::server {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Clients of a pool, each with a connection of its own.
class PreparationPoolTest : public ::testing::Test {
 protected:
  struct Call {
    std::shared_ptr<CapturedReply> connection;
    std::future<std::shared_ptr<ApiStatus>> ended;  // a coroutine's result must be default-constructible

    ApiStatus Get() { return *ended.get(); }
    bool EndedWithin(std::chrono::milliseconds time) { return ended.wait_for(time) == std::future_status::ready; }
  };

  Call Start(PreparationPool& pool, const std::string& client, std::function<void()> work, int64_t slots = 1,
             bool small = false) {
    const auto strand = asio::make_strand(io_.get_executor());
    Call out{.connection = std::make_shared<CapturedReply>(strand), .ended = {}};
    Caller caller;
    caller.account = client;
    caller.limits.preparations = slots;
    out.ended = asio::co_spawn(strand, RunOne(pool, caller, out.connection, std::move(work), small), asio::use_future);
    return out;
  }

  // Work that holds a thread until `release`. It runs when this returns.
  Call Hold(PreparationPool& pool, const std::string& client, std::latch& release) {
    const auto begun = std::make_shared<std::latch>(1);
    Call out = Start(pool, client, [begun, &release] {
      begun->count_down();
      release.wait();
    });
    begun->wait();
    return out;
  }

  Call StartSmall(PreparationPool& pool, const std::string& client, std::function<void()> work, int64_t slots = 1) {
    return Start(pool, client, std::move(work), slots, true);
  }

  static asio::awaitable<std::shared_ptr<ApiStatus>> RunOne(PreparationPool& pool, Caller caller,
                                                            std::shared_ptr<CapturedReply> connection,
                                                            std::function<void()> work, bool small) {
    ApiStatus ended;
    if (small) {
      ended = co_await pool.RunSmall(caller, *connection, std::move(work));
    } else {
      ended = co_await pool.Run(caller, *connection, std::move(work));
    }
    co_return std::make_shared<ApiStatus>(ended);
  }

  asio::thread_pool io_{2};
};

void WorkUntilSpent() {
  while (!WorkBudget::Spent()) continue;
}

TEST_F(PreparationPoolTest, OneClientsSlowRequestsHoldOneThreadOfTwo) {
  PreparationPool pool({.threads = 2, .cpu = 0ms, .time = 0s});
  std::latch release(1);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::vector<Call> greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.push_back(Start(pool, "greedy", [&] {
      most = std::max(most.load(), ++running);
      release.wait();
      --running;
    }));
  }
  Call polite = Start(pool, "polite", [] {});
  EXPECT_TRUE(polite.EndedWithin(20s)) << "it does not wait for another client";
  EXPECT_TRUE(polite.Get());
  EXPECT_EQ(running, 1);
  release.count_down();
  for (Call& call : greedy) EXPECT_TRUE(call.Get());
  EXPECT_EQ(most, 1);
  pool.Join();
}

TEST_F(PreparationPoolTest, ClientsTakeTurns) {
  PreparationPool pool({.threads = 1, .cpu = 0ms, .time = 0s});
  std::latch release(1);
  std::mutex mutex;
  std::string order;
  const auto note = [&](char who) {
    const std::lock_guard lock(mutex);
    order += who;
  };
  std::vector<Call> calls;
  calls.push_back(Hold(pool, "first", release));
  for (int i = 0; i < 4; ++i) {
    calls.push_back(Start(
        pool, "greedy", [&] { note('g'); }, 0));
    while (pool.waiting() < static_cast<size_t>(i) + 1) std::this_thread::sleep_for(1ms);
  }
  calls.push_back(Start(pool, "polite", [&] { note('p'); }));
  while (pool.waiting() < 5) std::this_thread::sleep_for(1ms);
  release.count_down();
  for (Call& call : calls) EXPECT_TRUE(call.Get());
  EXPECT_LT(order.find('p'), 2u) << order;
  pool.Join();
}

TEST_F(PreparationPoolTest, AClientThatLeavesWhileItWaitsIsNeverPrepared) {
  PreparationPool pool({.threads = 1, .cpu = 0ms, .time = 0s});
  std::latch release(1);
  std::atomic<bool> ran{false};
  Call first = Hold(pool, "a", release);
  Call gone = Start(pool, "b", [&] { ran = true; });
  while (pool.waiting() == 0) std::this_thread::sleep_for(1ms);
  gone.connection->Cancel();
  ASSERT_TRUE(gone.EndedWithin(20s)) << "it does not wait for the thread";
  EXPECT_EQ(gone.Get().error().status, 503);
  EXPECT_EQ(pool.waiting(), 0u);
  release.count_down();
  EXPECT_TRUE(first.Get());
  pool.Join();
  EXPECT_FALSE(ran);
}

TEST_F(PreparationPoolTest, AClientThatLeavesEndsItsOwnPreparation) {
  PreparationPool pool({.threads = 1, .cpu = 0ms, .time = 0s});
  std::latch begun(1);
  Call call = Start(pool, "a", [&] {
    begun.count_down();
    WorkUntilSpent();
  });
  begun.wait();
  call.connection->Cancel();
  ASSERT_TRUE(call.EndedWithin(20s));
  EXPECT_FALSE(call.Get());
  pool.Join();
}

TEST_F(PreparationPoolTest, TooMuchProcessorTimeIsA400ThatNamesTheLimit) {
  PreparationPool pool({.threads = 1, .cpu = 30ms, .time = 0s});
  const ApiStatus ended = Start(pool, "a", WorkUntilSpent).Get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().status, 400);
  EXPECT_EQ(ended.error().code, "preparation_limit");
  EXPECT_NE(ended.error().message.find("30 ms"), std::string::npos);
  EXPECT_NE(ended.error().message.find("limits.preparation_cpu_ms"), std::string::npos);
  EXPECT_TRUE(Start(pool, "a", [] { std::this_thread::sleep_for(60ms); }).Get()) << "a wait is no work";
  pool.Join();
}

TEST_F(PreparationPoolTest, WhoWaitsTooLongIsToldAtOnce) {
  PreparationPool pool({.threads = 1, .cpu = 0ms, .time = 1s});
  std::latch release(1);
  Call first = Hold(pool, "a", release);
  Call late = Start(pool, "b", [] {});
  ASSERT_TRUE(late.EndedWithin(20s)) << "while the thread is still held";
  const ApiStatus ended = late.Get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().status, 503);
  EXPECT_NE(ended.error().message.find("limits.preparation_seconds"), std::string::npos);
  release.count_down();
  EXPECT_EQ(first.Get().error().status, 503) << "it took longer than its deadline too";
  pool.Join();
}

TEST_F(PreparationPoolTest, SmallWorkRunsAtOnceOnTheThreadThatHasIt) {
  PreparationPool pool({.threads = 1, .cpu = 0ms, .time = 0s});
  std::latch release(1);
  Call first = Hold(pool, "a", release);
  std::atomic<int> runs{0};
  Call small = StartSmall(pool, "b", [&] { ++runs; });
  ASSERT_TRUE(small.EndedWithin(20s)) << "while the only thread is held";
  EXPECT_TRUE(small.Get());
  EXPECT_EQ(runs, 1);
  release.count_down();
  EXPECT_TRUE(first.Get());
  pool.Join();
}

TEST_F(PreparationPoolTest, SmallWorkWaitsForASlotOfItsClient) {
  PreparationPool pool({.threads = 2, .cpu = 0ms, .time = 0s});
  std::latch release(1);
  Call first = Hold(pool, "a", release);
  std::atomic<bool> ran{false};
  Call small = StartSmall(pool, "a", [&] { ran = true; });
  while (pool.waiting() == 0) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(ran);
  release.count_down();
  EXPECT_TRUE(first.Get());
  EXPECT_TRUE(small.Get());
  EXPECT_TRUE(ran);
  pool.Join();
}

TEST_F(PreparationPoolTest, WorkThatIsNotSmallAfterAllGoesToAThreadOfThePool) {
  PreparationPool pool({.threads = 1, .cpu = 30ms, .time = 0s});
  std::atomic<int> runs{0};
  std::set<std::thread::id> threads;  // one run after the other
  Call call = StartSmall(pool, "a", [&] {
    ++runs;
    threads.insert(std::this_thread::get_id());
    if (runs == 1) WorkUntilSpent();
  });
  EXPECT_TRUE(call.Get());
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(threads.size(), 2u);
  const ApiStatus ended = StartSmall(pool, "a", WorkUntilSpent).Get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, "preparation_limit");
  EXPECT_TRUE(StartSmall(pool, "a", [] {}).Get()) << "its slot is free again";
  EXPECT_THROW(StartSmall(pool, "a", [] { throw std::runtime_error("a bug"); }).ended.get(), std::runtime_error);
  EXPECT_TRUE(StartSmall(pool, "a", [] {}).Get()) << "its slot is free again";
  pool.Join();
}

TEST_F(PreparationPoolTest, WhatTheWorkThrowsIsThrownToItsCaller) {
  PreparationPool pool({.threads = 1});
  Call call = Start(pool, "a", [] { throw std::runtime_error("a bug"); });
  EXPECT_THROW(call.ended.get(), std::runtime_error);
  EXPECT_TRUE(Start(pool, "a", [] {}).Get()) << "its slot is free again";
  pool.Join();
}

}  // namespace
}  // namespace inferflux::server
