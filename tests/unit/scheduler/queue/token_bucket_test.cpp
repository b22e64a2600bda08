#include "scheduler/queue/token_bucket.h"

#include <gtest/gtest.h>

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

const TokenBucket::Clock::time_point kStart = TokenBucket::Clock::time_point() + 1000h;

TEST(TokenBucket, AMinutesTokensMayBeUsedAtOnceAndThenLeakOutEvenly) {
  TokenBucket bucket;
  bucket.SetRate(600, kStart);  // ten a second
  EXPECT_EQ(bucket.SecondsUntilFree(kStart), 0);
  bucket.Charge(599, kStart);
  EXPECT_EQ(bucket.SecondsUntilFree(kStart), 0);
  bucket.Charge(51, kStart);
  EXPECT_EQ(bucket.SecondsUntilFree(kStart), 6) << "50 over, ten a second: after five it is not below yet";
  EXPECT_EQ(bucket.SecondsUntilFree(kStart + 5s), 1);
  EXPECT_EQ(bucket.SecondsUntilFree(kStart + 6s), 0);
  EXPECT_FALSE(bucket.empty(kStart + 64s));
  EXPECT_TRUE(bucket.empty(kStart + 66s));
}

TEST(TokenBucket, WhoObeysTheAdviceIsLetIn) {
  TokenBucket bucket;
  bucket.SetRate(90, kStart);
  auto now = kStart;
  for (int i = 0; i < 50; ++i) {
    bucket.Charge(37 + 13 * i, now);
    const int32_t wait = bucket.SecondsUntilFree(now);
    if (wait == 0) continue;
    EXPECT_GT(bucket.SecondsUntilFree(now + std::chrono::seconds(wait - 1)), 0) << "not a second earlier";
    now += std::chrono::seconds(wait);
    EXPECT_EQ(bucket.SecondsUntilFree(now), 0);
  }
}

TEST(TokenBucket, WithoutARateNothingIsCounted) {
  TokenBucket bucket;
  bucket.Charge(1'000'000, kStart);
  EXPECT_EQ(bucket.SecondsUntilFree(kStart), 0);
  bucket.SetRate(60, kStart);
  EXPECT_EQ(bucket.SecondsUntilFree(kStart), 0);
  bucket.Charge(120, kStart);
  EXPECT_GT(bucket.SecondsUntilFree(kStart), 0);
  bucket.SetRate(0, kStart);
  EXPECT_EQ(bucket.SecondsUntilFree(kStart), 0);
}

}  // namespace
}  // namespace inferflux::scheduler
