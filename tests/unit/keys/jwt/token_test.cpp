// The parts of a token, before its signature is checked.
#include "keys/jwt/token.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

#include "keys/jwt/base64url.h"
#include "keys/jwt/jose_object.h"
#include "keys/jwt/signed_tokens.h"

namespace inferflux::keys {
namespace {

// {"alg":"EdDSA"} and {"a":1}
constexpr std::string_view kPlainHeader = "eyJhbGciOiJFZERTQSJ9";
constexpr std::string_view kPlainClaims = "eyJhIjoxfQ";

std::string TokenError(const std::string& text) {
  const auto token = ParseToken(text);
  EXPECT_FALSE(token.has_value()) << text.substr(0, 100);
  return token ? "" : token.error().message;
}

TEST(TokenTest, HasWhatIsSignedTheClaimsAndTheSignature) {
  for (const SignedToken& each : kSignedTokens) {
    const auto token = ParseToken(each.token);
    ASSERT_TRUE(token.has_value()) << token.error().message;
    const size_t first = each.token.find('.'), last = each.token.rfind('.');
    EXPECT_EQ(token->algorithm, ParseAlgorithm(each.algorithm));
    EXPECT_EQ(token->signed_text, each.token.substr(0, last));
    EXPECT_EQ(token->claims, each.token.substr(first + 1, last - first - 1));
    EXPECT_EQ(token->signature, DecodeBase64Url(each.token.substr(last + 1)));
    EXPECT_EQ(
        boost::json::serialize(*ParseClaims(*token)),
        R"({"iss":"https://id.example","aud":"inferflux","sub":"alice","exp":2000000000,"scope":"openid read generate"})");
  }
  EXPECT_EQ(ParseToken(kSignedTokens[1].token)->key_id, "es256");
  EXPECT_EQ(ParseToken(fmt::format("{}.{}.", kPlainHeader, kPlainClaims))->key_id, std::nullopt);
}

TEST(TokenTest, HasAtMost16KiB) {
  const std::string begin = fmt::format("{}.{}.", kPlainHeader, kPlainClaims);
  const std::string longest = begin + std::string(16'384 - begin.size(), 'A');
  const auto token = ParseToken(longest);
  EXPECT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(TokenError(longest + "A"), "the token is longer than 16384 bytes");
}

TEST(TokenTest, APartThatIsWrongIsNamed) {
  EXPECT_EQ(TokenError("a.b"), "the token does not have three parts");
  EXPECT_EQ(TokenError(fmt::format("=.{}.", kPlainClaims)), "the token's header is not base64url");
  EXPECT_EQ(TokenError(fmt::format("{}.{}.=", kPlainHeader, kPlainClaims)), "the token's signature is not base64url");
  EXPECT_EQ(TokenError(".."), "the token's header is not a JSON object");
  EXPECT_EQ(TokenError("eyJhbGciOiJFZERTQSIsImtpZCI6N30.."), "'kid' of the token's header is not a string");
  EXPECT_EQ(TokenError("eyJhbGciOiJFZERTQSIsInR5cCI6N30.."), "'typ' of the token's header is not a string");
  EXPECT_EQ(TokenError("eyJhIjoxLCJhIjoxfQ.."), "the token's header has a member twice in one object");
  EXPECT_EQ(TokenError("e30.."), "the token's algorithm (alg) is not one of RS256, ES256 and EdDSA");
  EXPECT_EQ(TokenError("eyJjcml0IjpbXX0.."), "the token's header asks for extensions (crit), which are not supported");
  const auto claims = ParseClaims(*ParseToken(fmt::format("{}.=.", kPlainHeader)));
  ASSERT_FALSE(claims.has_value());
  EXPECT_EQ(claims.error().message, "the token's claims is not base64url");
}

TEST(TokenTest, ATypeIsThatOfAnAccessToken) {
  // {"alg":"EdDSA","typ":"..."}: JWT, at+jwt, application/jwt, Application/AT+JWT, then logout+jwt and jw.
  for (const char* right : {"eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9", "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9",
                            "eyJhbGciOiJFZERTQSIsInR5cCI6ImFwcGxpY2F0aW9uL2p3dCJ9",
                            "eyJhbGciOiJFZERTQSIsInR5cCI6IkFwcGxpY2F0aW9uL0FUK0pXVCJ9"}) {
    EXPECT_TRUE(ParseToken(std::string(right) + "..").has_value()) << *DecodeBase64Url(right);
  }
  for (const char* wrong : {"eyJhbGciOiJFZERTQSIsInR5cCI6ImxvZ291dCtqd3QifQ", "eyJhbGciOiJFZERTQSIsInR5cCI6Imp3In0"}) {
    EXPECT_EQ(TokenError(std::string(wrong) + ".."), "the token's type (typ) is not JWT or at+jwt")
        << *DecodeBase64Url(wrong);
  }
}

TEST(TokenTest, ItsObjectsHaveEightLevels) {
  const auto nested = [](int lists) { return R"({"a":)" + std::string(lists, '[') + std::string(lists, ']') + "}"; };
  EXPECT_TRUE(ParseJoseObject(nested(7), "it").has_value());
  const auto deeper = ParseJoseObject(nested(8), "it");
  ASSERT_FALSE(deeper.has_value());
  EXPECT_EQ(deeper.error().message, "it is not a JSON object");
  EXPECT_EQ(ParseJoseObject(R"({"a":[[[[[[{"b":1,"b":2}]]]]]]})", "it").error().message,
            "it has a member twice in one object");
  for (const char* wrong : {"", "7", "[]", "{", "{} {}"})
    EXPECT_FALSE(ParseJoseObject(wrong, "it").has_value()) << wrong;
}

}  // namespace
}  // namespace inferflux::keys
