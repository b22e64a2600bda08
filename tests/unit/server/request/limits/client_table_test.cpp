#include "server/request/limits/client_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <vector>

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;

Caller CallerOf(const std::string& account, const keys::Limits& limits) {
  Caller out;
  out.account = account;
  out.key_name = account;
  out.limits = limits;
  return out;
}

class ClientTableTest : public ::testing::Test {
 protected:
  metrics::Registry metrics_;
  ClientTable table_{metrics_};

  std::string Metrics() const { return prometheus::TextSerializer().Serialize(metrics_.Collectable().Collect()); }
};

TEST_F(ClientTableTest, AClientHasRequestsOnAsManyConnectionsAsItMay) {
  const Caller greedy = CallerOf("greedy", {.connections = 2});
  auto one = table_.Enter(greedy, ErrorResponse), two = table_.Enter(greedy, ErrorResponse);
  ASSERT_TRUE(one && two);
  const auto three = table_.Enter(greedy, ErrorResponse);
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().status, 429);
  EXPECT_GE(three.error().retry_after, 1);
  EXPECT_THAT(three.error().message, HasSubstr("limits.connections"));
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_limited_requests_total{key=\"greedy\",limit=\"connections\"} 1\n"));
  EXPECT_TRUE(table_.Enter(CallerOf("polite", {.connections = 2}), ErrorResponse));
  one->reset();
  EXPECT_TRUE(table_.Enter(greedy, ErrorResponse)) << "one has ended";
}

TEST_F(ClientTableTest, TheBodiesOfAClientHaveALimitTogether) {
  const Caller caller = CallerOf("a", {.body_bytes = 1000});
  auto one = *table_.Enter(caller, ErrorResponse);
  auto two = *table_.Enter(caller, ErrorResponse);
  EXPECT_FALSE(one->Take(600));
  const auto refused = two->Take(500);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_FALSE(two->Take(400)) << "what was refused counts for nothing";
  one.reset();
  EXPECT_FALSE(two->Take(600));
  const auto large = two->Take(1);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->status, 413) << "alone it is larger than the limit: a retry helps nothing";
}

TEST_F(ClientTableTest, TokensOfAMinuteAreRefusedWithTheTimeUntilThereAreSome) {
  const Caller caller = CallerOf("a", {.tokens_per_minute = 60});
  const auto limits = table_.AccountLimitsOf(caller);
  ASSERT_TRUE(limits.tokens);
  EXPECT_TRUE(table_.CheckTokens(caller));
  limits.tokens->Charge(90, ClientTable::Clock::now());
  const auto refused = table_.CheckTokens(caller);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 429);
  EXPECT_NEAR(refused.error().retry_after, 31, 1);
  EXPECT_FALSE(table_.Enter(caller, ErrorResponse)) << "before the body";
  EXPECT_TRUE(table_.CheckTokens(CallerOf("b", {.tokens_per_minute = 60})));
  EXPECT_FALSE(table_.AccountLimitsOf(CallerOf("c", {})).tokens) << "without a limit nothing is counted";
}

TEST_F(ClientTableTest, ManyAddressesMakeOneSeries) {
  for (int i = 0; i < 50; ++i) {
    Caller caller;
    caller.peer = "10.0.0." + std::to_string(i);
    caller.limits.connections = 1;
    const auto held = table_.Enter(caller, ErrorResponse);
    EXPECT_FALSE(table_.Enter(caller, ErrorResponse)) << "each address has its own count";
  }
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_limited_requests_total{key=\"none\",limit=\"connections\"} 50\n"));
}

TEST_F(ClientTableTest, WhoHoldsNothingIsForgottenAndWhoOwesIsNot) {
  const Caller debtor = CallerOf("debtor", {.tokens_per_minute = 60});
  table_.AccountLimitsOf(debtor).tokens->Charge(1'000'000, ClientTable::Clock::now());
  for (int i = 0; i < 25'000; ++i) {
    Caller caller;
    caller.peer = std::to_string(i);
    ASSERT_TRUE(table_.Enter(caller, ErrorResponse));
  }
  EXPECT_LE(table_.size(), 10'001u);
  EXPECT_FALSE(table_.CheckTokens(debtor));
}

}  // namespace
}  // namespace inferflux::server
