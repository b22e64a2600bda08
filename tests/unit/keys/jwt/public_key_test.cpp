// Which keys are accepted, at the edges.
#include "keys/jwt/public_key.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "keys/jwt/base64url.h"
#include "keys/jwt/signed_tokens.h"

namespace inferflux::keys {
namespace {

using BigNumber = std::unique_ptr<BIGNUM, decltype([](BIGNUM* number) { BN_free(number); })>;

std::string LettersOf(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  while (out.ends_with('=')) out.pop_back();
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

boost::json::object Jwk(std::string_view text) { return boost::json::parse(text).as_object(); }

// One of kSignedTokens' keys with some of its members changed: `more` has priority.
boost::json::object Changed(size_t token, std::string_view more) {
  boost::json::object out = Jwk(kSignedTokens[token].key);
  for (const auto& member : Jwk(more)) out[member.key()] = member.value();
  return out;
}
constexpr size_t kRsaKey = 0, kEcKey = 1, kEdKey = 2;

// What is wrong with the key, after a kind of error: "bad: ..." or "other: ..." (for something else). Empty: nothing.
std::string FaultOf(const boost::json::object& jwk) {
  const auto key = PublicKey::Parse(jwk);
  EXPECT_EQ(::ERR_peek_error(), 0ul) << "TLS would read it as its own";
  if (key) return "";
  return (key.error().code == ErrorCode::kUnsupported ? "other: " : "bad: ") + key.error().message;
}

// A product of two numbers without small factors, as an RSA modulus, of so many bits.
std::string ModulusOf(int bits) {
  const std::string known = *DecodeBase64Url(Jwk(kSignedTokens[0].key).at("n").as_string());
  const BigNumber n(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(known.data()), static_cast<int>(known.size()), nullptr));
  const BigNumber factor(BN_new()), product(BN_new());
  BN_zero(factor.get());
  BN_set_bit(factor.get(), bits - BN_num_bits(n.get()));
  const auto has_small_factor = [&] {
    for (BN_ULONG small = 3; small < 1000; small += 2) {
      if (BN_mod_word(factor.get(), small) == 0) return true;
    }
    return false;
  };
  BN_add_word(factor.get(), 1);
  while (has_small_factor()) BN_add_word(factor.get(), 2);
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), BN_CTX_free);
  BN_mul(product.get(), n.get(), factor.get(), context.get());
  EXPECT_EQ(BN_num_bits(product.get()), bits);
  std::string out(static_cast<size_t>(BN_num_bytes(product.get())), '\0');
  BN_bn2bin(product.get(), reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string FaultOfModulus(std::string_view modulus) {
  return FaultOf(Changed(kRsaKey, fmt::format(R"({{"n": "{}"}})", LettersOf(modulus))));
}

TEST(PublicKeyTest, AnRsaModulusHas2048To8192Bits) {
  const std::string longest = ModulusOf(8192);
  EXPECT_EQ(FaultOfModulus(longest), "");
  EXPECT_EQ(FaultOfModulus('\0' + longest), "") << "as libraries write the number";
  EXPECT_EQ(FaultOfModulus(std::string(2, '\0') + longest),
            "bad: the key is too long: at most 8192 bits of 'n' and 64 of 'e'");
  EXPECT_EQ(FaultOfModulus(ModulusOf(8193)), "bad: 'n' of the key has 8193 bits; 2048 to 8192 are accepted");
  EXPECT_EQ(FaultOf(Jwk(kSignedTokens[0].key)), "") << "2048 bits";
  EXPECT_EQ(FaultOfModulus('\x7f' + std::string(255, '\xff')),
            "bad: 'n' of the key has 2047 bits; 2048 to 8192 are accepted");
  EXPECT_EQ(FaultOfModulus('\x80' + std::string(255, '\0')), "bad: the key is not a valid RSA key") << "an even number";
}

TEST(PublicKeyTest, AnRsaExponentIsOddAboveOneAndHas64Bits) {
  const auto fault = [](std::string_view bytes) {
    return FaultOf(Changed(kRsaKey, fmt::format(R"({{"e": "{}"}})", LettersOf(bytes))));
  };
  EXPECT_EQ(fault("\x03"), "");
  EXPECT_EQ(fault(std::string("\x80\0\0\0\0\0\0\1", 8)), "");
  EXPECT_EQ(fault(std::string("\0\x80\0\0\0\0\0\0\1", 9)),
            "bad: the key is too long: at most 8192 bits of 'n' and 64 of 'e'");
  for (const char* wrong : {"\x01", "\x02", "\x10"})
    EXPECT_EQ(fault(wrong), "bad: 'e' of the key is not an odd number above 1");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"e": ""})")), "bad: 'e' of the key is not base64url");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"e": 3})")), "bad: 'e' of the key is not a string");
}

TEST(PublicKeyTest, ACoordinateHas32Bytes) {
  for (const size_t key : {kEcKey, kEdKey}) {
    for (const size_t bytes : {31, 33}) {
      EXPECT_EQ(FaultOf(Changed(key, fmt::format(R"({{"x": "{}"}})", LettersOf(std::string(bytes, 'x'))))),
                fmt::format("bad: 'x' of the key has {} bytes; it needs 32", bytes));
    }
    EXPECT_EQ(FaultOf(Changed(key, R"({"x": "="})")), "bad: 'x' of the key is not base64url");
    EXPECT_EQ(FaultOf(Jwk(kSignedTokens[key].key)), "");
  }
  EXPECT_EQ(FaultOf(Changed(kEcKey, R"({"y": "AAAA"})")), "bad: 'y' of the key has 3 bytes; it needs 32");
  EXPECT_EQ(FaultOf(Changed(kEcKey, fmt::format(R"({{"y": "{}"}})", LettersOf(std::string(32, 'x'))))),
            "bad: 'x' and 'y' of the key are not a point of P-256");
  EXPECT_EQ(FaultOf(Jwk(R"({"kty": "EC", "crv": "P-256", "x": "AAAA"})")),
            "bad: 'x' of the key has 3 bytes; it needs 32");
  EXPECT_EQ(FaultOf(Jwk(R"({"kty": "RSA", "e": "AQAB"})")), "bad: the key has no 'n'");
  EXPECT_EQ(FaultOf(Jwk(R"({"kty": "RSA", "n": "AQAB"})")), "bad: the key has no 'e'");
}

TEST(PublicKeyTest, AKeyForSomethingElseSaysForWhat) {
  const std::string kind = "other: its kty or crv is not one of RSA, P-256 and Ed25519";
  EXPECT_EQ(FaultOf(Changed(kEdKey, R"({"crv": "X25519"})")), kind);
  EXPECT_EQ(FaultOf(Changed(kEcKey, R"({"crv": "Ed25519"})")), kind);
  EXPECT_EQ(FaultOf(Changed(kEcKey, R"({"kty": "ec"})")), kind);
  EXPECT_EQ(FaultOf(Jwk(R"({"kty": "EC"})")), kind);
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"crv": "P-384"})")), "") << "RSA keys have none";
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"alg": "RS256"})")), "");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"alg": "PS256"})")), "other: its alg is not RS256");
  EXPECT_EQ(FaultOf(Changed(kEcKey, R"({"alg": "RS256"})")), "other: its alg is not ES256");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"use": "enc"})")), "other: its use is not 'sig'");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"key_ops": []})")), "other: its key_ops do not have 'verify'");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"key_ops": ["sign", 7]})")), "other: its key_ops do not have 'verify'");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"key_ops": [7, "verify"]})")), "");
  EXPECT_EQ(FaultOf(Changed(kRsaKey, R"({"key_ops": "verify"})")), "bad: 'key_ops' of the key is not a list");
  boost::json::object without = Jwk(kSignedTokens[kRsaKey].key);
  without.erase("use");
  EXPECT_EQ(FaultOf(without), "");
}

TEST(PublicKeyTest, ASecretIsRefusedWhateverItIs) {
  for (const char* name : {"d", "p", "q", "k"}) {
    EXPECT_EQ(FaultOf(Changed(kEdKey, fmt::format(R"({{"{}": "AQ"}})", name))),
              fmt::format("bad: the key has '{}', a part of a private key; leave the public parts only", name));
  }
  EXPECT_EQ(FaultOf(Jwk(R"({"kty": "oct"})")), "bad: the key is a shared secret; only public keys are accepted");
  EXPECT_EQ(FaultOf(Jwk("{}")), "bad: the key has no 'kty'");
  EXPECT_EQ(FaultOf(Changed(kEdKey, R"({"kty": 7})")), "bad: 'kty' of the key is not a string");
}

TEST(PublicKeyTest, AnIdHas256BytesAtMost) {
  const auto with = [](size_t bytes) {
    return Changed(kEdKey, fmt::format(R"({{"kid": "{}"}})", std::string(bytes, 'k')));
  };
  EXPECT_EQ(PublicKey::Parse(with(256))->id(), std::string(256, 'k'));
  EXPECT_EQ(FaultOf(with(257)), "bad: 'kid' of the key is longer than 256 bytes");
  EXPECT_EQ(FaultOf(Changed(kEdKey, R"({"kid": 7})")), "bad: 'kid' of the key is not a string");
  boost::json::object without = Jwk(kSignedTokens[kEdKey].key);
  without.erase("kid");
  EXPECT_EQ(PublicKey::Parse(without)->id(), "");
}

TEST(PublicKeyTest, AlgorithmsHaveTheirNamesOnly) {
  EXPECT_EQ(ParseAlgorithm("RS256"), Algorithm::kRs256);
  EXPECT_EQ(ParseAlgorithm("ES256"), Algorithm::kEs256);
  EXPECT_EQ(ParseAlgorithm("EdDSA"), Algorithm::kEdDsa);
  for (const char* other : {"", "none", "HS256", "rs256", "RS256 "}) EXPECT_FALSE(ParseAlgorithm(other)) << other;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(PublicKey::Parse(Jwk(kSignedTokens[i].key))->algorithm(), ParseAlgorithm(kSignedTokens[i].algorithm));
  }
}

}  // namespace
}  // namespace inferflux::keys
