// The bounds of who may call: lists of sites, long headers, and the memory of failed logins.
#include <gtest/gtest.h>

#include <string>

#include "server/fake_model.h"
#include "server/request/access/login_guard.h"
#include "server/request/access/site_policy.h"

namespace inferflux::testing {
namespace {

using server::LoginGuard;
using server::SitePolicy;
using std::chrono::milliseconds;
using std::chrono::seconds;

net::Request Calls(const std::string& host, const std::string& origin = "") {
  net::Request out;
  if (!host.empty()) out.headers.push_back({"Host", host});
  if (!origin.empty()) out.headers.push_back({"Origin", origin});
  return out;
}

std::string RefusalOf(std::string_view hosts, std::string_view origins) {
  const auto parsed = SitePolicy::Parse(hosts, origins);
  return parsed ? "taken" : parsed.error().message;
}

TEST(AccessEdgesTest, ListsMayHaveSpacesAndEmptyEntries) {
  const auto policy = SitePolicy::Parse(" , A.example ,,b.example, ", ",https://A.example , http://b:1,");
  ASSERT_TRUE(policy);
  EXPECT_TRUE(policy->CheckHost(Calls("a.EXAMPLE:1"), false));
  EXPECT_TRUE(policy->CheckHost(Calls("b.example"), true));
  EXPECT_FALSE(policy->CheckHost(Calls("c.example"), true));
  EXPECT_FALSE(policy->IsForeign(Calls("", "https://a.EXAMPLE"), false));
  EXPECT_FALSE(policy->IsForeign(Calls("", "http://b:1"), false));
  EXPECT_TRUE(policy->IsForeign(Calls("", "http://b:2"), false)) << "no host, and another site";
}

TEST(AccessEdgesTest, WhatIsWrongInAListIsNamed) {
  EXPECT_EQ(RefusalOf("ok,http://X", ""),
            "server.allowed_hosts: 'http://x' is not a host name; write it without scheme, port and path");
  for (const char* wrong : {"a:1", "a/b", "a@b", "a b"}) EXPECT_NE(RefusalOf(wrong, ""), "taken") << wrong;
  EXPECT_EQ(RefusalOf("", "https://ok,x"),
            "server.allowed_origins: 'x' is not an origin; write scheme, host and port alone, such as "
            "https://chat.example.com or http://localhost:3000");
  for (const char* wrong : {"https://a/", "https://a?", "https://a#", "https://u@a", "https://a b", "https://", "://a"})
    EXPECT_NE(RefusalOf("", wrong), "taken") << wrong;
  EXPECT_EQ(RefusalOf("*", "*"), "taken");
  EXPECT_EQ(RefusalOf("", "app://x"), "taken");
}

TEST(AccessEdgesTest, AForeignPageIsToldWhy) {
  const SitePolicy policy;
  const auto host = policy.CheckHost(Calls("Evil.example:80"), false);
  EXPECT_EQ(host.error().message,
            "this server is not called 'evil.example'; if it is, list the name in server.allowed_hosts");
  EXPECT_EQ(host.error().code, "forbidden_host");
  const auto origin = policy.CheckOrigin(Calls("127.0.0.1", "https://evil.example"), false);
  EXPECT_EQ(origin.error().status, 403);
  EXPECT_EQ(origin.error().message,
            "calls are not taken from the web pages of https://evil.example; list a site that may in "
            "server.allowed_origins");
  EXPECT_TRUE(policy.IsForeign(Calls("", "https://evil.example"), true)) << "no host to compare with";
  EXPECT_TRUE(policy.IsForeign(Calls("llm.example", "https://llm.example"), false))
      << "its own page, by another's name";
  EXPECT_FALSE(policy.IsForeign(Calls("app.localhost:1", "http://app.localhost:1"), false));
  const auto named = SitePolicy::Parse("llm.example", "");
  EXPECT_FALSE(named->IsForeign(Calls("llm.example", "https://llm.example"), false));
}

TEST(AccessEdgesTest, APreflightRepeatsAShortListOfHeaders) {
  const auto policy = SitePolicy::Parse("", "https://a.example");
  const auto answer = [&](const std::string& headers) {
    net::Request asked = Calls("localhost", "https://a.example");
    if (!headers.empty()) asked.headers.push_back({"Access-Control-Request-Headers", headers});
    return *policy->Preflight(asked);
  };
  const std::string most(1024, 'h');
  EXPECT_EQ(net::FindHeader(answer(most).headers, "Access-Control-Allow-Headers"), most);
  EXPECT_EQ(net::FindHeader(answer(most + "h").headers, "Access-Control-Allow-Headers"), "");
  const net::Response plain = answer("");
  EXPECT_EQ(plain.headers.size(), 2u);
  EXPECT_EQ(net::FindHeader(plain.headers, "Access-Control-Max-Age"), "600");
  EXPECT_EQ(net::FindHeader(plain.headers, "Access-Control-Allow-Methods"), "GET, POST, PUT, PATCH, DELETE");
  const auto bare = policy->Preflight(Calls("localhost"));
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->status, 204);
  EXPECT_TRUE(bare->headers.empty());
  EXPECT_EQ(policy->Preflight(Calls("localhost", "https://b.example")).error().message,
            "pages of 'https://b.example' may not use this server; server.allowed_origins lists the sites that may");
  const auto read = policy->AnswerHeaders(Calls("localhost", "https://A.example"));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(net::FindHeader(read, "Access-Control-Allow-Origin"), "https://A.example") << "as it was sent";
  EXPECT_EQ(net::FindHeader(read, "Access-Control-Expose-Headers"), "X-Request-Id, Retry-After");
  EXPECT_EQ(policy->AnswerHeaders(Calls("localhost")).size(), 1u);
}

TEST(AccessEdgesTest, EachFailureDoublesUpToTwoSeconds) {
  LoginGuard guard;
  const auto now = LoginGuard::Clock::now();
  std::string waits;
  for (int i = 0; i < 13; ++i) waits += fmt::format("{} ", guard.Failed("a", now).count());
  EXPECT_EQ(waits, "0 0 0 0 0 50 100 200 400 800 1600 2000 2000 ");
  EXPECT_EQ(guard.Failed("a", now + seconds(60)), seconds(2)) << "a minute is not over";
  EXPECT_EQ(guard.Failed("a", now + seconds(120) + milliseconds(1)), milliseconds(0));
}

TEST(AccessEdgesTest, TenThousandAddressesAreRemembered) {
  LoginGuard guard;
  const auto now = LoginGuard::Clock::now();
  for (int i = 0; i < 5; ++i) guard.Failed("a", now);
  for (int i = 1; i < 10'000; ++i) guard.Failed(fmt::format("peer {}", i), now - seconds(70));
  EXPECT_EQ(guard.Failed("a", now), milliseconds(50)) << "it is among them";
  EXPECT_EQ(guard.Failed("one more", now), milliseconds(0)) << "those of long ago make room";
  EXPECT_EQ(guard.Failed("a", now), milliseconds(100));
  for (int i = 0; i < 10'000; ++i) guard.Failed(fmt::format("other {}", i), now);
  EXPECT_EQ(guard.Failed("a", now), milliseconds(0)) << "no more than these";
}

TEST(AccessEdgesTest, AWrongKeyIsCountedAndNoKeyIsNotGuessing) {
  keys::KeyLine key;
  key.hash = keys::HashOf("key");
  key.scopes = keys::kEveryScope;
  FakeServer fake([](const GenerationRequest&, TokenStream&) {}, server::ApiKeys({key}));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fake.Get("/v1/key").status, 401);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fake.Get("/v1/models").status, 401);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fake.Get("/v1/key", "Bearer other").status, 401);
  EXPECT_NE(fake.Get("/metrics", "Bearer key").body.find("inferflux_failed_logins_total 45\n"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(30)) << "none of these waits";
  const auto waits = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fake.Get("/v1/key", "Bearer other").status, 401);
  EXPECT_GE(std::chrono::steady_clock::now() - waits, milliseconds(50 + 100 + 200));
}

}  // namespace
}  // namespace inferflux::testing
