#include "keys/jwt/token_verifier.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include <boost/json/parse.hpp>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "keys/jwt/signed_tokens.h"
#include "keys/jwt/token.h"

namespace inferflux::keys {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Time kEnd{seconds(2'000'000'000)};
constexpr Time kNow = kEnd - seconds(1000);

ClaimRules Rules() { return {.issuer = "https://id.example", .audiences = {"other", "inferflux"}}; }

TokenVerifier Verifier(ClaimRules rules = Rules()) {
  std::string keys;
  for (const SignedToken& each : kSignedTokens) keys += (keys.empty() ? "" : ", ") + std::string(each.key);
  auto set = KeySet::Parse(fmt::format(R"({{"keys": [{}]}})", keys));
  EXPECT_TRUE(set.has_value());
  return {std::move(*set), std::move(rules)};
}

std::string Base64Url(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kLetters[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kLetters[bits << (6 - count) & 63];
  return out;
}

std::string ErrorOf(const TokenVerifier& verifier, std::string_view token, Time now = kNow) {
  const auto out = verifier.Verify(token, now);
  EXPECT_FALSE(out.has_value()) << token;
  return out ? "" : out.error().message;
}

TEST(TokenVerifierTest, TokensOfEveryAlgorithmAreTaken) {
  const TokenVerifier verifier = Verifier();
  for (const SignedToken& each : kSignedTokens) {
    const auto caller = verifier.Verify(each.token, kNow);
    ASSERT_TRUE(caller.has_value()) << each.algorithm << caller.error().message;
    EXPECT_EQ(caller->account, "alice");
    EXPECT_EQ(caller->scopes, Scope::kRead | Scope::kGenerate) << "openid is not a scope of this server";
  }
}

TEST(TokenVerifierTest, AnyChangedLetterIsRefused) {
  const TokenVerifier verifier = Verifier();
  std::mt19937 random(7);
  for (const SignedToken& each : kSignedTokens) {
    for (int i = 0; i < 200; ++i) {
      std::string token(each.token);
      char& letter = token[random() % token.size()];
      const char old = std::exchange(letter, "AZaz09-_.="[random() % 10]);
      if (letter == old) continue;
      EXPECT_FALSE(verifier.Verify(token, kNow).has_value()) << token;
    }
  }
}

TEST(TokenVerifierTest, ASignatureOfAnotherLengthOrOfNothingIsRefused) {
  const TokenVerifier verifier = Verifier();
  for (const SignedToken& each : kSignedTokens) {
    const std::string start(each.token.substr(0, each.token.rfind('.') + 1));
    EXPECT_THAT(ErrorOf(verifier, start), HasSubstr("signature is wrong"));
    EXPECT_THAT(ErrorOf(verifier, std::string(each.token) + "AAAA"), HasSubstr("signature"));
    EXPECT_THAT(ErrorOf(verifier, start + std::string(86, 'A')), HasSubstr("signature is wrong")) << "r and s are 0";
  }
  EXPECT_EQ(::ERR_peek_error(), 0ul) << "TLS would read it as its own";
}

TEST(TokenVerifierTest, AHeaderThatAsksForSomethingElseIsRefused) {
  const TokenVerifier verifier = Verifier();
  const auto with = [&](std::string_view header) {
    return ErrorOf(verifier, Base64Url(header) + "." + Base64Url("{}") + ".AAAA");
  };
  for (const char* name : {"none", "None", "HS256", "HS512", "RS384", "PS256", "ES384", "rs256", ""}) {
    EXPECT_THAT(with(fmt::format(R"({{"alg": "{}", "kid": "rs256"}})", name)), HasSubstr("(alg)")) << name;
  }
  EXPECT_THAT(with(R"({"kid": "rs256"})"), HasSubstr("(alg)"));
  EXPECT_THAT(with(R"({"alg": 7})"), HasSubstr("'alg'"));
  EXPECT_THAT(with(R"({"alg": "RS256", "kid": "es256"})"), HasSubstr("kid and algorithm"));
  EXPECT_THAT(with(R"({"alg": "RS256", "kid": "rs256", "crit": ["b64"], "b64": false})"), HasSubstr("crit"));
  EXPECT_THAT(with(R"({"alg": "RS256", "kid": "rs256", "typ": "logout+jwt"})"), HasSubstr("(typ)"));
  EXPECT_THAT(with(R"({"alg": "RS256", "alg": "RS256"})"), HasSubstr("twice"));
  EXPECT_THAT(with(R"({"alg": "RS256"} {})"), HasSubstr("not a JSON object"));
  EXPECT_THAT(with("[[[[[[[[[[[]]]]]]]]]]]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(with(R"({"alg": "RS256", "typ": "AT+JWT"})"), HasSubstr("signature is wrong")) << "this far it is right";
}

TEST(TokenVerifierTest, ATokenHasThreePartsAndALimit) {
  const TokenVerifier verifier = Verifier();
  for (const char* text : {"", ".", "a.b", "a.b.c.d", "a.b.c.d.e"}) {
    EXPECT_THAT(ErrorOf(verifier, text), HasSubstr("three parts")) << text;
  }
  EXPECT_THAT(ErrorOf(verifier, std::string(kMaxTokenBytes + 1, '.')), HasSubstr("longer than"));
  EXPECT_THAT(ErrorOf(verifier, "a=.b.c"), HasSubstr("base64url"));
}

TEST(TokenVerifierTest, TimesAreCheckedWithTheLeeway) {
  const TokenVerifier verifier = Verifier();
  const std::string_view token = kSignedTokens[2].token;
  EXPECT_TRUE(verifier.Verify(token, kEnd + seconds(59)).has_value());
  EXPECT_THAT(ErrorOf(verifier, token, kEnd + seconds(60)), HasSubstr("expired (exp)"));
}

TEST(TokenVerifierTest, AnotherIssuerOrAudienceIsRefused) {
  ClaimRules rules = Rules();
  rules.issuer = "https://id.example/";
  EXPECT_THAT(ErrorOf(Verifier(rules), kSignedTokens[0].token), HasSubstr("issuer (iss)"));
  rules = Rules();
  rules.audiences = {"inferflu", "inferflux2"};
  EXPECT_THAT(ErrorOf(Verifier(rules), kSignedTokens[0].token), HasSubstr("audience (aud)"));
}

// `text` in place of the members that every token has.
Result<TokenCaller> Claims(std::string_view more, ClaimRules rules = Rules(),
                           std::string_view needed = R"("iss": "https://id.example", "aud": "inferflux", )"
                                                     R"("exp": 2000000000, "sub": "alice")") {
  const auto object = boost::json::parse(fmt::format("{{{}{}}}", needed, more)).as_object();
  return CheckClaims(object, rules, kNow);
}

TEST(ClaimsTest, EachNeededClaimIsNeeded) {
  ASSERT_TRUE(Claims("").has_value());
  EXPECT_EQ(Claims("")->scopes, 0);
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {R"("aud": "inferflux", "exp": 2000000000, "sub": "a")", "(iss)"},
      {R"("iss": "https://id.example", "exp": 2000000000, "sub": "a")", "(aud)"},
      {R"("iss": "https://id.example", "aud": [], "exp": 2000000000, "sub": "a")", "(aud)"},
      {R"("iss": "https://id.example", "aud": {"inferflux": 1}, "exp": 2000000000, "sub": "a")", "(aud)"},
      {R"("iss": ["https://id.example"], "aud": "inferflux", "exp": 2000000000, "sub": "a")", "'iss'"},
      {R"("iss": "https://id.example", "aud": "inferflux", "sub": "a")", "(exp)"},
      {R"("iss": "https://id.example", "aud": "inferflux", "exp": "2000000000", "sub": "a")", "'exp'"},
      {R"("iss": "https://id.example", "aud": "inferflux", "exp": 1e300, "sub": "a")", "'exp'"},
      {R"("iss": "https://id.example", "aud": "inferflux", "exp": -1, "sub": "a")", "'exp'"},
      {R"("iss": "https://id.example", "aud": "inferflux", "exp": 2000000000)", "'sub'"},
      {R"("iss": "https://id.example", "aud": "inferflux", "exp": 2000000000, "sub": "")", "'sub'"},
      {R"("iss": "https://id.example", "aud": "inferflux", "exp": 2000000000, "sub": 7)", "'sub'"}};
  for (const auto& [needed, name] : wrong) {
    const auto out = Claims("", Rules(), needed);
    ASSERT_FALSE(out.has_value()) << needed;
    EXPECT_THAT(out.error().message, HasSubstr(name));
  }
}

TEST(ClaimsTest, ATokenOfTheFutureIsRefused) {
  const auto at = [](Time time) { return std::to_string(time.time_since_epoch().count()); };
  for (const char* name : {"nbf", "iat"}) {
    const auto member = [&](Time time) { return fmt::format(R"(, "{}": {})", name, at(time)); };
    EXPECT_TRUE(Claims(member(kNow + seconds(60))).has_value()) << name;
    const auto out = Claims(member(kNow + seconds(61)));
    ASSERT_FALSE(out.has_value()) << name;
    EXPECT_THAT(out.error().message, HasSubstr(name));
    EXPECT_TRUE(Claims(member(kNow + seconds(59)) + ".5").has_value()) << "a fraction is a time";
  }
}

TEST(ClaimsTest, ScopesAreWordsOrAListByAnyName) {
  const auto scopes = [](std::string_view more, ClaimRules rules = Rules()) {
    const auto out = Claims(more, std::move(rules));
    EXPECT_TRUE(out.has_value()) << out.error().message;
    return out ? out->scopes : Scopes{0};
  };
  EXPECT_EQ(scopes(R"(, "scope": "admin  openid metrics")"), Scope::kAdmin | Scope::kMetrics);
  EXPECT_EQ(scopes(R"(, "scope": ["load", "profile"])"), static_cast<Scopes>(Scope::kLoad));
  EXPECT_EQ(scopes(R"(, "scope": "read,admin")"), 0) << "one word, of no scope";
  EXPECT_EQ(scopes(R"(, "scope": "Admin")"), 0);
  ClaimRules rules = Rules();
  rules.scope_claim = "/realm_access/roles";
  rules.scope_prefix = "llm:";
  EXPECT_EQ(scopes(R"(, "realm_access": {"roles": ["llm:read", "admin"]})", rules), static_cast<Scopes>(Scope::kRead));
  EXPECT_EQ(scopes(R"(, "realm_access": "llm:read")", rules), 0);
  EXPECT_FALSE(Claims(R"(, "scope": 31)").has_value());
  EXPECT_FALSE(Claims(R"(, "scope": ["read", 7])").has_value());
}

TEST(ClaimsTest, TheAccountMayBeAnotherClaim) {
  ClaimRules rules = Rules();
  rules.account_claim = "tenant";
  EXPECT_EQ(Claims(R"(, "tenant": "acme")", rules)->account, "acme");
  EXPECT_FALSE(Claims("", rules).has_value());
  EXPECT_FALSE(Claims(fmt::format(R"(, "tenant": "{}")", std::string(257, 'x')), rules).has_value());
}

}  // namespace
}  // namespace inferflux::keys
