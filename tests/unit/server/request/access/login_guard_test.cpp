#include "server/request/access/login_guard.h"

#include <gtest/gtest.h>

namespace inferflux::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LoginGuardTest, AFewMistakesAreFreeThenEachAnswerWaitsTwiceAsLong) {
  LoginGuard guard;
  const auto now = LoginGuard::Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(guard.Failed("192.0.2.1", now), milliseconds(0)) << i;
  EXPECT_EQ(guard.Failed("192.0.2.1", now), milliseconds(50));
  EXPECT_EQ(guard.Failed("192.0.2.1", now), milliseconds(100));
  for (int i = 0; i < 100; ++i) guard.Failed("192.0.2.1", now);
  EXPECT_EQ(guard.Failed("192.0.2.1", now), seconds(2)) << "never longer";
  EXPECT_EQ(guard.Failed("192.0.2.2", now), milliseconds(0)) << "another address";
}

TEST(LoginGuardTest, AQuietMinuteIsForgiven) {
  LoginGuard guard;
  const auto now = LoginGuard::Clock::now();
  for (int i = 0; i < 20; ++i) guard.Failed("192.0.2.1", now);
  EXPECT_GT(guard.Failed("192.0.2.1", now + seconds(59)), milliseconds(0));
  EXPECT_EQ(guard.Failed("192.0.2.1", now + seconds(59 + 61)), milliseconds(0));
}

}  // namespace
}  // namespace inferflux::server
