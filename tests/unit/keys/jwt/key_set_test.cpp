#include "keys/jwt/key_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "keys/jwt/signed_tokens.h"

namespace inferflux::keys {
namespace {

using ::testing::HasSubstr;

std::string SetOf(std::string_view keys) { return fmt::format(R"({{"keys": [{}]}})", keys); }

std::string AllKeys() {
  std::string out;
  for (const SignedToken& each : kSignedTokens) out += (out.empty() ? "" : ", ") + std::string(each.key);
  return SetOf(out);
}

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

std::string ErrorOf(std::string_view set) {
  const auto out = KeySet::Parse(set);
  EXPECT_FALSE(out.has_value()) << set;
  return out ? "" : out.error().message;
}

constexpr std::string_view kRsa = kSignedTokens[0].key;
constexpr std::string_view kEc = kSignedTokens[1].key;
constexpr std::string_view kEd = kSignedTokens[2].key;

TEST(KeySetTest, AKeyIsFoundByItsIdAndItsAlgorithm) {
  const auto set = KeySet::Parse(AllKeys());
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->size(), 3u);
  ASSERT_NE(set->Find(Algorithm::kEs256, "es256"), nullptr);
  EXPECT_EQ(set->Find(Algorithm::kEs256, "es256")->id(), "es256");
  EXPECT_EQ(set->Find(Algorithm::kRs256, "es256"), nullptr) << "a key has one algorithm";
  EXPECT_EQ(set->Find(Algorithm::kEs256, "other"), nullptr);
  EXPECT_NE(set->Find(Algorithm::kEdDsa, std::nullopt), nullptr) << "the only one";
}

TEST(KeySetTest, WithoutAnIdThereMustBeOneKeyOnly) {
  const auto set = KeySet::Parse(SetOf(fmt::format("{}, {}", kRsa, Replaced(kRsa, "rs256", "second"))));
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->Find(Algorithm::kRs256, std::nullopt), nullptr);
  EXPECT_NE(set->Find(Algorithm::kRs256, "second"), nullptr);
}

TEST(KeySetTest, KeysForOtherPurposesAreLeftOutAndNamed) {
  const std::string encrypting = Replaced(kRsa, "\"sig\"", "\"enc\"");
  const std::string other = Replaced(kRsa, "{", R"({"alg": "RS512", )");
  const std::string curve = Replaced(kEc, "P-256", "P-384");
  const std::string wrapping = Replaced(kEd, "{", R"({"key_ops": ["wrapKey"], )");
  const auto set = KeySet::Parse(SetOf(fmt::format("{}, {}, {}, {}, {}", encrypting, other, curve, wrapping, kEd)));
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->size(), 1u);
  ASSERT_EQ(set->left_out().size(), 4u);
  EXPECT_THAT(set->left_out()[0], HasSubstr("keys[0]"));
  EXPECT_THAT(set->left_out()[1], HasSubstr("alg"));
  EXPECT_THAT(ErrorOf(SetOf(encrypting)), HasSubstr("no key for RS256"));
}

TEST(KeySetTest, WrongKeysAreErrorsOfTheWholeSet) {
  EXPECT_THAT(ErrorOf(SetOf(fmt::format("{}, {}", kEd, Replaced(kRsa, "{", R"({"d": "AQ", )")))),
              HasSubstr("keys[1]: the key has 'd'"));
  EXPECT_THAT(ErrorOf(SetOf(R"({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"})")), HasSubstr("shared secret"));
  EXPECT_THAT(ErrorOf(SetOf(R"({"kty": "RSA", "n": "AQAB", "e": "AQAB"})")), HasSubstr("'n' of the key has 17 bits"));
  EXPECT_THAT(ErrorOf(SetOf(fmt::format(R"({{"kty": "RSA", "n": "{}", "e": "AQAB"}})", std::string(1368, '_')))),
              HasSubstr("too long"));
  EXPECT_THAT(ErrorOf(SetOf(Replaced(kRsa, "AQAB", "AQAA"))), HasSubstr("'e' of the key is not an odd number"));
  EXPECT_THAT(ErrorOf(SetOf(Replaced(kRsa, "\"n\"", "\"m\""))), HasSubstr("has no 'n'"));
  EXPECT_THAT(ErrorOf(SetOf(Replaced(kEc, "\"x\": \"", "\"x\": \"AA"))), HasSubstr("'x' of the key"));
  EXPECT_THAT(ErrorOf(SetOf(fmt::format("{}, {}", kRsa, kRsa))), HasSubstr("keys[1] has the kid"));
  EXPECT_THAT(ErrorOf(SetOf("7")), HasSubstr("keys[0] is not an object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("no list 'keys'"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"keys": [], "keys": []})"), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf(std::string(KeySet::kMaxBytes + 1, ' ')), HasSubstr("larger than"));
}

TEST(KeySetTest, APointThatIsNotOnTheCurveIsRefused) {
  const std::string zeros(43, 'A');
  EXPECT_THAT(ErrorOf(SetOf(fmt::format(R"({{"kty": "EC", "crv": "P-256", "x": "{}", "y": "{}"}})", zeros, zeros))),
              HasSubstr("not a point"));
}

TEST(KeySetTest, AFileIsReadAndAFifoIsNotWaitedFor) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("inferflux_jwks_{}", ::getpid());
  std::ofstream(path) << AllKeys();
  EXPECT_TRUE(KeySet::Read(path).has_value());
  std::filesystem::remove(path);
  EXPECT_EQ(KeySet::Read(path).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(KeySet::Read(path).error().message, HasSubstr("is not a file"));
  std::filesystem::remove(path);
}

TEST(KeySetTest, HasAtMost64KeysAndAQuarterOfAMegabyte) {
  const auto of = [](int keys) {
    std::string out;
    for (int i = 0; i < keys; ++i) out += (i == 0 ? "" : ",") + Replaced(kEd, "eddsa", fmt::format("key{}", i));
    return SetOf(out);
  };
  const auto most = KeySet::Parse(of(64));
  ASSERT_TRUE(most.has_value()) << most.error().message;
  EXPECT_EQ(most->size(), 64u);
  EXPECT_EQ(most->Find(Algorithm::kEdDsa, "key63")->id(), "key63");
  EXPECT_EQ(ErrorOf(of(65)), "the key set has 65 keys; at most 64 are accepted");
  std::string padded = AllKeys();
  padded.resize(262'144, ' ');
  EXPECT_TRUE(KeySet::Parse(padded).has_value());
  EXPECT_EQ(ErrorOf(padded + " "), "the key set is larger than 262144 bytes");
}

TEST(KeySetTest, KeysDifferByTheirIdAndAlgorithm) {
  const std::string same = Replaced(kEc, "es256", "rs256");
  const auto set = KeySet::Parse(SetOf(fmt::format("{}, {}", kRsa, same)));
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->Find(Algorithm::kRs256, "rs256")->algorithm(), Algorithm::kRs256);
  EXPECT_EQ(set->Find(Algorithm::kEs256, "rs256")->algorithm(), Algorithm::kEs256);
  EXPECT_EQ(ErrorOf(SetOf(fmt::format("{}, {}, {}", kEd, kRsa, kRsa))),
            "keys[2] has the kid and the algorithm of a key before it");
  const std::string unnamed = Replaced(kRsa, "\"kid\": \"rs256\", ", "");
  const auto two = KeySet::Parse(SetOf(fmt::format("{}, {}", unnamed, unnamed)));
  ASSERT_TRUE(two.has_value()) << "two without an id";
  EXPECT_EQ(two->Find(Algorithm::kRs256, std::nullopt), nullptr);
  EXPECT_EQ(two->Find(Algorithm::kRs256, ""), nullptr);
  EXPECT_NE(KeySet::Parse(SetOf(unnamed))->Find(Algorithm::kRs256, ""), nullptr);
  EXPECT_EQ(KeySet::Parse(SetOf(unnamed))->Find(Algorithm::kRs256, "rs256"), nullptr);
}

TEST(KeySetTest, ErrorsNameTheKey) {
  EXPECT_EQ(ErrorOf(SetOf("")), "the key set has no key for RS256, ES256 or EdDSA signatures");
  const std::string encrypting = Replaced(kRsa, "\"sig\"", "\"enc\"");
  EXPECT_EQ(ErrorOf(SetOf(encrypting)),
            "the key set has no key for RS256, ES256 or EdDSA signatures: keys[0] is not used: its use is not 'sig'");
  EXPECT_EQ(ErrorOf(SetOf(std::string(kRsa) + ", 7")), "keys[1] is not an object");
  EXPECT_EQ(ErrorOf(R"({"keys": {}})"), "the key set has no list 'keys'");
  const auto set = KeySet::Parse(SetOf(fmt::format("{}, {}, {}", kEd, encrypting, Replaced(kEc, "P-256", "P-384"))));
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_THAT(set->left_out(),
              ::testing::ElementsAre("keys[1] is not used: its use is not 'sig'",
                                     "keys[2] is not used: its kty or crv is not one of RSA, P-256 and Ed25519"));
}

// Whether the address 0 of this process is read with EIO. Some sandboxes answer otherwise.
bool ReadingMemoryFails() {
  const int file = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  char byte = 0;
  const bool fails = ::read(file, &byte, 1) < 0 && errno == EIO;
  ::close(file);
  return fails;
}

TEST(KeySetTest, AFileOfTheLargestSizeIsReadAndNoneStaysOpen) {
  using Entries = std::filesystem::directory_iterator;
  const auto open = [] { return std::distance(Entries("/proc/self/fd"), Entries()); };
  const auto before = open();
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("inferflux_jwks_size_{}", ::getpid());
  std::string text = AllKeys();
  text.resize(262'144, ' ');
  std::ofstream(path) << text;
  const auto set = KeySet::Read(path);
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->size(), 3u);
  std::ofstream(path) << text << " ";
  EXPECT_EQ(KeySet::Read(path).error().message, path + " is larger than 262144 bytes");
  std::ofstream(path) << "{}";
  EXPECT_EQ(KeySet::Read(path).error().message, path + ": the key set has no list 'keys'");
  std::filesystem::remove(path);
  EXPECT_EQ(KeySet::Read(path).error().message, "cannot read " + path + ": No such file or directory");
  EXPECT_EQ(KeySet::Read("/").error().message, "/ is not a file");
  EXPECT_EQ(open(), before);
  if (!ReadingMemoryFails()) GTEST_SKIP() << "no file here fails to be read";
  EXPECT_EQ(KeySet::Read("/proc/self/mem").error().message, "cannot read /proc/self/mem: Input/output error");
  EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace inferflux::keys
