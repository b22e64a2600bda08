// How a refusal of a client's limits is worded: to a key, and to an address.
#include <gtest/gtest.h>

#include <string>

#include "server/request/limits/client_table.h"

namespace inferflux::server {
namespace {

struct ClientRefusals : ::testing::Test {
  metrics::Registry metrics;
  ClientTable table{metrics};

  static Caller Who(bool key, const keys::Limits& limits) {
    Caller out;
    if (key) out.account = out.key_name = "ann";
    out.peer = "192.0.2.1";
    out.limits = limits;
    return out;
  }
};

TEST_F(ClientRefusals, NameTheClientTheLimitAndTheTime) {
  for (const bool key : {true, false}) {
    const std::string who = key ? "this API key" : "this address";
    const Caller connects = Who(key, {.connections = 1});
    const auto held = table.Enter(connects, ErrorResponse);
    ASSERT_TRUE(held);
    const auto connection = table.Enter(connects, ErrorResponse).error();
    EXPECT_EQ(connection.message, who +
                                      " has requests on 1 connections, which is its limit (limits.connections); try "
                                      "again in about 1 s");
    EXPECT_EQ(connection.type, "rate_limit_error");
    EXPECT_EQ(connection.code, "rate_limit_exceeded");
    EXPECT_EQ(connection.param, "");
    EXPECT_EQ(connection.retry_after, 1);

    const Caller sends = Who(key, {.body_bytes = 100});
    auto first = *table.Enter(sends, ErrorResponse), second = *table.Enter(sends, ErrorResponse);
    EXPECT_FALSE(first->Take(60));
    EXPECT_FALSE(second->Take(40)) << "exactly the limit";
    const auto later = second->Take(60);
    ASSERT_TRUE(later);
    EXPECT_EQ(later->status, 429);
    EXPECT_EQ(later->reason, "the bodies of " + who +
                                 " would take more than its limit of 100 bytes (limits.body_bytes); try again in "
                                 "about 1 s");
    const auto never = second->Take(61);
    ASSERT_TRUE(never);
    EXPECT_EQ(never->status, 413);
    EXPECT_EQ(never->reason,
              "the body is larger than the 100 bytes that " + who + " may have in memory (limits.body_bytes)");
    EXPECT_NE(never->body.find("body_too_large"), std::string::npos);

    const Caller talks = Who(key, {.tokens_per_minute = 6000});
    table.AccountLimitsOf(talks).tokens->Charge(7000, ClientTable::Clock::now());
    const auto tokens = table.CheckTokens(talks).error();
    EXPECT_EQ(tokens.message, fmt::format("{} has used its 6000 tokens a minute (limits.tokens_per_minute); try again "
                                          "in about {} s",
                                          who, tokens.retry_after));
    EXPECT_EQ(tokens.status, 429);
  }
  EXPECT_EQ(table.size(), 2u) << "a key and an address";
}

TEST_F(ClientRefusals, LimitsTravelToTheScheduler) {
  const auto limits = table.AccountLimitsOf(Who(true, {.running = 3, .queued = 4}));
  EXPECT_EQ(limits.running, 3);
  EXPECT_EQ(limits.queued, 4);
  EXPECT_EQ(limits.tokens, nullptr);
  EXPECT_EQ(table.size(), 0u) << "nothing is remembered for them";
  const auto both = table.AccountLimitsOf(Who(true, {.tokens_per_minute = 5}));
  EXPECT_EQ(both.tokens, table.AccountLimitsOf(Who(true, {.tokens_per_minute = 5})).tokens) << "one for the client";
  EXPECT_NE(both.tokens, table.AccountLimitsOf(Who(false, {.tokens_per_minute = 5})).tokens);
}

}  // namespace
}  // namespace inferflux::server
