// The edges of what claims may say.
#include "keys/jwt/claims.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace inferflux::keys {
namespace {

constexpr Time kToday{std::chrono::seconds(1'800'000'000)};

// What CheckClaims says of claims that are right but for those of `more`: an error, or the account and the scopes.
std::string Said(std::string_view more, ClaimRules rules = {}) {
  rules.issuer = "id";
  rules.audiences = {"us", "we"};
  boost::json::object claims =
      boost::json::parse(R"({"iss": "id", "aud": "us", "exp": 1800000001, "sub": "al"})").as_object();
  const boost::json::object changed = boost::json::parse(more).as_object();
  for (const auto& member : changed) claims[member.key()] = member.value();
  const auto out = CheckClaims(claims, rules, kToday);
  if (!out) return out.error().message;
  return out->account + ": " + NamesOf(out->scopes);
}

TEST(ClaimEdgesTest, TimesLieBetween1970AndTheYear9999) {
  EXPECT_EQ(Said("{}"), "al: ");
  EXPECT_EQ(Said(R"({"exp": 253402300799})"), "al: ");
  EXPECT_EQ(Said(R"({"exp": 253402300800})"), "the token's 'exp' is not a time");
  EXPECT_EQ(Said(R"({"exp": 0})"), "the token has expired (exp)");
  EXPECT_EQ(Said(R"({"exp": -1})"), "the token's 'exp' is not a time");
  EXPECT_EQ(Said(R"({"exp": 1799999940})"), "the token has expired (exp)") << "with the leeway of a minute";
  EXPECT_EQ(Said(R"({"exp": 1799999940.5})"), "al: ");
  EXPECT_EQ(Said(R"({"exp": true})"), "the token's 'exp' is not a number");
  for (const auto& [name, why] : {std::pair("nbf", "the token is not valid yet (nbf)"),
                                  std::pair("iat", "the token was issued in the future (iat)")}) {
    const auto with = [&](std::string_view value) { return Said(fmt::format(R"({{"{}": {}}})", name, value)); };
    EXPECT_EQ(with("0"), "al: ");
    EXPECT_EQ(with("1800000060"), "al: ");
    EXPECT_EQ(with("1800000060.5"), why);
    EXPECT_EQ(with("-1"), fmt::format("the token's '{}' is not a time", name));
    EXPECT_EQ(with("null"), fmt::format("the token's '{}' is not a number", name));
  }
}

TEST(ClaimEdgesTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(Said(R"({"iss": "i"})"), "the token is from another issuer (iss)");
  EXPECT_EQ(Said(R"({"iss": 7})"), "'iss' of the token's claims is not a string");
  EXPECT_EQ(Said(R"({"aud": "they"})"), "the token is for another audience (aud)");
  EXPECT_EQ(Said(R"({"aud": [7, "they"]})"), "the token is for another audience (aud)");
  EXPECT_EQ(Said(R"({"aud": [7, "they", "we"]})"), "al: ");
  EXPECT_EQ(Said(R"({"aud": "we"})"), "al: ");
  EXPECT_EQ(Said(R"({"scope": 7})"), "the token's claim 'scope' is neither a string nor a list of strings");
  EXPECT_EQ(Said(R"({"scope": ["read", null]})"),
            "the token's claim 'scope' is neither a string nor a list of strings");
}

TEST(ClaimEdgesTest, AnAccountHas1To256Bytes) {
  const auto with = [](size_t bytes) { return Said(fmt::format(R"({{"sub": "{}"}})", std::string(bytes, 'x'))); };
  const std::string why = "the token's claim 'sub' is not a string of 1 to 256 bytes";
  EXPECT_EQ(with(0), why);
  EXPECT_EQ(with(1), "x: ");
  EXPECT_EQ(with(256), std::string(256, 'x') + ": ");
  EXPECT_EQ(with(257), why);
  EXPECT_EQ(Said(R"({"sub": ["al"]})"), why);
}

TEST(ClaimEdgesTest, AClaimMayLieWithinOthers) {
  ClaimRules rules;
  rules.account_claim = "/a/b/c";
  rules.scope_claim = "/s";
  EXPECT_EQ(Said(R"({"a": {"b": {"c": "deep"}}, "s": "read"})", rules), "deep: read");
  for (const char* missing :
       {R"({"a": {"b": {"d": "deep"}}})", R"({"a": {"b": "c"}})", R"({"a": 7})", R"({"/a/b/c": "x"})", "{}"}) {
    EXPECT_EQ(Said(missing, rules), "the token's claim '/a/b/c' is not a string of 1 to 256 bytes") << missing;
  }
  rules.account_claim = "a/b";
  EXPECT_EQ(Said(R"({"a/b": "plain"})", rules), "plain: ") << "no path";
}

TEST(ClaimEdgesTest, ScopesAreWordsWithTheirPrefix) {
  EXPECT_EQ(Said(R"({"scope": " read  metrics other "})"), "al: read,metrics");
  EXPECT_EQ(Said(R"({"scope": ""})"), "al: ");
  EXPECT_EQ(Said(R"({"scope": []})"), "al: ");
  EXPECT_EQ(Said(R"({"scope": ["read metrics", "load", "admin"]})"), "al: load,admin") << "a word has no space";
  EXPECT_EQ(Said(R"({"scope": "read,metrics load"})"), "al: load");
  ClaimRules rules;
  rules.scope_prefix = "llm:";
  EXPECT_EQ(Said(R"({"scope": "llm:read llm: llm llm:llm:load metrics"})", rules), "al: read");
  EXPECT_EQ(Said(R"({"scope": ["llm:read", "load"]})", rules), "al: read");
}

}  // namespace
}  // namespace inferflux::keys
