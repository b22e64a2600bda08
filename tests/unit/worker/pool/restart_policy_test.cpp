#include "worker/pool/restart_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using Time = RestartPolicy::Time;
const Time kStart{std::chrono::hours(1)};

double Seconds(RestartPolicy::Duration time) { return std::chrono::duration<double>(time).count(); }

TEST(RestartPolicy, AWorkerThatServedForLongStartsAtOnce) {
  RestartPolicy policy(1);
  for (int i = 0; i < 50; ++i) {
    const Time now = kStart + i * 6s;
    policy.Ready(now);
    policy.Ended(now, 5s);
    EXPECT_EQ(policy.next_start(), now);
    EXPECT_FALSE(policy.open());
  }
  EXPECT_EQ(policy.restarts(), 50);
}

TEST(RestartPolicy, EarlyEndsWaitTwiceAsLongEachTime) {
  RestartPolicy policy(1);
  for (const double wait : {1.0, 2.0, 4.0, 8.0}) {
    policy.Ended(kStart, 0s);
    EXPECT_NEAR(Seconds(policy.next_start() - kStart), wait, 0.1 * wait);
    EXPECT_FALSE(policy.open());
  }
}

TEST(RestartPolicy, TheWaitIsAtMostAMinute) {
  RestartPolicy policy(1);
  Time now = kStart;
  for (int i = 0; i < 12; ++i) {
    policy.Ended(now, 0s);
    EXPECT_LE(policy.next_start() - now, 66s);
    now += 61s;  // never five in a minute
  }
  EXPECT_FALSE(policy.open());
}

TEST(RestartPolicy, TheFifthEarlyEndInAMinuteOpensTheCircuitForAMinute) {
  RestartPolicy policy(1);
  Time now = kStart;
  for (int i = 0; i < 4; ++i) policy.Ended(now += 10s, 0s);
  EXPECT_FALSE(policy.open());
  policy.Ended(now += 10s, 0s);
  EXPECT_TRUE(policy.open());
  EXPECT_EQ(policy.next_start(), now + 60s);
}

TEST(RestartPolicy, OneFailedTryOpensAHalfOpenCircuitAgainAndOneSuccessClosesIt) {
  RestartPolicy policy(1);
  Time now = kStart;
  for (int i = 0; i < 5; ++i) policy.Ended(now += 1s, 0s);
  now = policy.next_start();
  policy.Ended(now, 0s);
  EXPECT_TRUE(policy.open());
  EXPECT_EQ(policy.next_start(), now + 60s);
  now = policy.next_start();
  policy.Ready(now);
  EXPECT_FALSE(policy.open());
  policy.Ended(now + 10s, 10s);
  EXPECT_EQ(policy.next_start(), now + 10s);
}

TEST(RestartPolicy, FourSecondsAndNineTenthsAreTooShort) {
  RestartPolicy policy(1);
  policy.Ended(kStart, 4999ms);
  EXPECT_GE(policy.next_start() - kStart, 900ms);
  policy.Ended(kStart, 5000ms);
  EXPECT_EQ(policy.next_start(), kStart);
  policy.Ended(kStart, 0s);
  EXPECT_NEAR(Seconds(policy.next_start() - kStart), 1, 0.1) << "it waits as after a first end again";
}

TEST(RestartPolicy, WaitsDoubleUpToAMinuteWithATenthOfJitter) {
  double least = 2, most = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RestartPolicy policy(seed);
    Time now = kStart;
    for (const double wait : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0}) {
      policy.Ended(now, 0s);
      const double part = Seconds(policy.next_start() - now) / wait;
      least = std::min(least, part);
      most = std::max(most, part);
      now += 61s;
    }
  }
  EXPECT_GE(least, 0.9);
  EXPECT_LT(least, 0.91);
  EXPECT_LE(most, 1.1);
  EXPECT_GT(most, 1.09);
}

TEST(RestartPolicy, AnEndAMinuteAgoNoLongerCounts) {
  for (const auto& [gap, opens] : {std::pair{15s, false}, std::pair{14s, true}}) {
    RestartPolicy policy(1);
    Time now = kStart;
    for (int i = 0; i < 5; ++i, now += gap) policy.Ended(now, 0s);
    EXPECT_EQ(policy.open(), opens);
  }
}

TEST(RestartPolicy, OneThatServedForLongHasACleanSlate) {
  RestartPolicy policy(1);
  for (int i = 0; i < 4; ++i) policy.Ended(kStart, 0s);
  policy.Ended(kStart, 5s);
  for (const double wait : {1.0, 2.0, 4.0, 8.0}) {
    policy.Ended(kStart, 0s);
    EXPECT_FALSE(policy.open());
    EXPECT_NEAR(Seconds(policy.next_start() - kStart), wait, 0.1 * wait);
  }
  policy.Ended(kStart, 0s);
  EXPECT_TRUE(policy.open());
  policy.Ended(kStart, 5s);
  EXPECT_FALSE(policy.open());
  EXPECT_EQ(policy.next_start(), kStart);
}

TEST(RestartPolicy, AnOperatorsRestartForgetsAll) {
  RestartPolicy policy(1);
  for (int i = 0; i < 5; ++i) policy.Ended(kStart, 0s);
  ASSERT_TRUE(policy.open());
  policy.Reset();
  EXPECT_FALSE(policy.open());
  EXPECT_EQ(policy.next_start(), Time{});
  EXPECT_EQ(policy.restarts(), 5);
  for (const double wait : {1.0, 2.0, 4.0, 8.0}) {
    policy.Ended(kStart, 0s);
    EXPECT_NEAR(Seconds(policy.next_start() - kStart), wait, 0.1 * wait);
    EXPECT_FALSE(policy.open());
  }
}

TEST(RestartPolicy, WorkersDoNotRestartInStep) {
  RestartPolicy a(1), b(2);
  a.Ended(kStart, 0s);
  b.Ended(kStart, 0s);
  EXPECT_NE(a.next_start(), b.next_start());
}

}  // namespace
}  // namespace inferflux::worker
