#include "worker/pool/restart_policy.h"

#include <gtest/gtest.h>

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

TEST(RestartPolicy, WorkersDoNotRestartInStep) {
  RestartPolicy a(1), b(2);
  a.Ended(kStart, 0s);
  b.Ended(kStart, 0s);
  EXPECT_NE(a.next_start(), b.next_start());
}

}  // namespace
}  // namespace inferflux::worker
