#include "server/request/access/site_policy.h"

#include <gtest/gtest.h>

namespace inferflux::server {
namespace {

net::Request From(const std::string& host, const std::string& origin = "") {
  net::Request out;
  if (!host.empty()) out.headers.push_back({"Host", host});
  if (!origin.empty()) out.headers.push_back({"Origin", origin});
  return out;
}

SitePolicy Policy(std::string_view hosts, std::string_view origins = "") {
  auto parsed = SitePolicy::Parse(hosts, origins);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : SitePolicy();
}

constexpr bool kKeys = true;
constexpr bool kNoKeys = false;

TEST(SitePolicyTest, WithoutKeysOnlyNamesOfThisMachineAreServed) {
  const SitePolicy policy;
  for (const char* own :
       {"localhost:8080", "LOCALHOST", "app.localhost:1", "127.0.0.1:8080", "[::1]:8080", "192.0.2.7", ""}) {
    EXPECT_TRUE(policy.CheckHost(From(own), kNoKeys)) << own;
  }
  for (const char* other : {"evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost"}) {
    const ApiStatus checked = policy.CheckHost(From(other), kNoKeys);
    ASSERT_FALSE(checked) << other;
    EXPECT_EQ(checked.error().status, 403);
    EXPECT_NE(checked.error().message.find("server.allowed_hosts"), std::string::npos);
  }
}

TEST(SitePolicyTest, WithKeysNamesAreCheckedWhereTheyAreListed) {
  EXPECT_TRUE(SitePolicy().CheckHost(From("any.example"), kKeys));
  const SitePolicy listed = Policy("llm.example, Other.Example");
  EXPECT_TRUE(listed.CheckHost(From("llm.example:443"), kKeys));
  EXPECT_TRUE(listed.CheckHost(From("other.example"), kNoKeys));
  EXPECT_FALSE(listed.CheckHost(From("evil.example"), kKeys));
  EXPECT_TRUE(Policy("*").CheckHost(From("evil.example"), kNoKeys));
}

TEST(SitePolicyTest, OnlyTheOwnPageAndListedSitesAreNotForeign) {
  const SitePolicy policy = Policy("", "https://chat.example.com,http://localhost:3000");
  EXPECT_FALSE(policy.IsForeign(From("127.0.0.1:8080"), kNoKeys)) << "no browser";
  EXPECT_FALSE(policy.IsForeign(From("127.0.0.1:8080", "http://127.0.0.1:8080"), kNoKeys)) << "the page at /";
  EXPECT_FALSE(policy.IsForeign(From("127.0.0.1:8080", "https://Chat.example.com"), kNoKeys));
  EXPECT_FALSE(policy.IsForeign(From("127.0.0.1:8080", "http://localhost:3000"), kNoKeys));
  EXPECT_TRUE(policy.IsForeign(From("127.0.0.1:8080", "http://localhost:3001"), kNoKeys));
  EXPECT_TRUE(policy.IsForeign(From("127.0.0.1:8080", "http://chat.example.com"), kNoKeys)) << "another scheme";
  EXPECT_TRUE(policy.IsForeign(From("127.0.0.1:8080", "null"), kNoKeys));
  EXPECT_TRUE(policy.IsForeign(From("evil.example:8080", "http://evil.example:8080"), kNoKeys)) << "DNS rebinding";
  EXPECT_FALSE(policy.IsForeign(From("llm.example", "https://llm.example"), kKeys)) << "the page at /, behind a name";
  EXPECT_EQ(policy.CheckOrigin(From("127.0.0.1", "null"), kNoKeys).error().code, "forbidden_origin");
}

TEST(SitePolicyTest, APageOfAListedSiteMayReadTheAnswer) {
  EXPECT_TRUE(SitePolicy().AnswerHeaders(From("localhost", "https://chat.example.com")).empty());
  const SitePolicy policy = Policy("", "https://chat.example.com");
  const auto headers = policy.AnswerHeaders(From("localhost", "https://chat.example.com"));
  EXPECT_EQ(net::FindHeader(headers, "Access-Control-Allow-Origin"), "https://chat.example.com");
  const auto none = policy.AnswerHeaders(From("localhost", "https://evil.example"));
  EXPECT_EQ(net::FindHeader(none, "Access-Control-Allow-Origin"), "");
  EXPECT_EQ(net::FindHeader(none, "Vary"), "Origin") << "no cache may give one site's answer to another";
}

TEST(SitePolicyTest, APreflightOfAListedSiteAllowsTheHeadersThatItAsksFor) {
  const SitePolicy policy = Policy("", "https://chat.example.com");
  net::Request asked = From("localhost", "https://chat.example.com");
  asked.headers.push_back({"Access-Control-Request-Headers", "authorization,content-type"});
  const auto answer = policy.Preflight(asked);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(net::FindHeader(answer->headers, "Access-Control-Allow-Headers"), "authorization,content-type");
  EXPECT_EQ(policy.Preflight(From("localhost", "https://evil.example")).error().status, 403);
}

TEST(SitePolicyTest, WhatIsNoNameOrNoOriginIsRefusedByItsSetting) {
  for (const char* wrong : {"https://llm.example", "llm.example:80", "a/b"}) {
    const auto parsed = SitePolicy::Parse(wrong, "");
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_NE(parsed.error().message.find("server.allowed_hosts"), std::string::npos);
  }
  for (const char* wrong : {"chat.example.com", "https://chat.example.com/", "https://", "://x"}) {
    const auto parsed = SitePolicy::Parse("", wrong);
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_NE(parsed.error().message.find("server.allowed_origins"), std::string::npos);
  }
}

}  // namespace
}  // namespace inferflux::server
