#include "keys/key_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace inferflux::keys {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KeyLine Parsed(std::string_view line) {
  const auto out = ParseKeyLine(line);
  EXPECT_TRUE(out.has_value() && out->has_value()) << line << (out ? "" : out.error().message);
  return out && *out ? **out : KeyLine();
}

std::string Hex(std::string_view key) { return ToHex(HashOf(key)); }

TEST(KeyLineTest, HashesAreSha256) {
  EXPECT_EQ(Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, appendix B
}

TEST(KeyLineTest, AHashAloneIsAKeyThatReadsAndGenerates) {
  for (const std::string rest : {"", "  -", " # alice", "  -  # alice"}) {
    const KeyLine key = Parsed(Hex("a") + rest);
    EXPECT_EQ(key.hash, HashOf("a"));
    EXPECT_EQ(key.scopes, Scope::kRead | Scope::kGenerate);
    EXPECT_EQ(key.name, "");
    EXPECT_FALSE(key.expires.has_value());
  }
}

TEST(KeyLineTest, ScopesNameAndTimeAreRead) {
  const KeyLine key = Parsed(Hex("a") + " read,metrics name=ci.main expires=2027-01-31");
  EXPECT_EQ(key.scopes, Scope::kRead | Scope::kMetrics);
  EXPECT_EQ(key.name, "ci.main");
  EXPECT_EQ(FormatTime(*key.expires), "2027-01-31T00:00:00Z");
  EXPECT_EQ(Parsed(Hex("a") + " name=x").scopes, Scope::kRead | Scope::kGenerate) << "without scopes";
}

TEST(KeyLineTest, AWrittenLineReadsAsTheSameKey) {
  const KeyLine key{HashOf("k"), kEveryScope, "me", ParseTime("2026-12-31T23:59:58Z")};
  const KeyLine back = Parsed(FormatKeyLine(key));
  EXPECT_EQ(back.hash, key.hash);
  EXPECT_EQ(back.scopes, key.scopes);
  EXPECT_EQ(back.name, key.name);
  EXPECT_EQ(back.expires, key.expires);
}

TEST(KeyLineTest, LimitsAreReadWrittenAndChecked) {
  const KeyLine key = Parsed(Hex("a") + " read name=x queued=8 tokens_per_minute=60000 running=0");
  EXPECT_EQ(key.limits.queued, 8);
  EXPECT_EQ(key.limits.tokens_per_minute, 60000);
  EXPECT_EQ(key.limits.running, 0) << "no limit, which is not the server's";
  EXPECT_FALSE(key.limits.connections.has_value());
  EXPECT_EQ(Parsed(FormatKeyLine(key)).limits, key.limits);
  for (const char* wrong : {"queued=-1", "queued=", "queued=x", "queued=1048577", "queued=8k", "tokens=5"}) {
    const auto out = ParseKeyLine(Hex("a") + " " + wrong);
    ASSERT_FALSE(out.has_value()) << wrong;
    EXPECT_THAT(out.error().message, HasSubstr(wrong));
  }
}

TEST(LimitsTest, AKeysOwnLimitsOverrideTheUsualOnes) {
  const Limits usual{
      .running = 4, .queued = 8, .body_bytes = 1, .connections = 2, .preparations = 3, .tokens_per_minute = 5};
  const Limits own{.queued = 0, .preparations = 9};
  const Limits both = Over(own, usual);
  EXPECT_EQ(both.running, 4);
  EXPECT_EQ(both.queued, 0);
  EXPECT_EQ(both.preparations, 9);
  EXPECT_EQ(both.tokens_per_minute, 5);
  for (const LimitRow& row : LimitRows()) EXPECT_TRUE((both.*row.value).has_value()) << row.name;
}

TEST(KeyLineTest, EmptyLinesAndCommentsHoldNoKey) {
  for (const char* line : {"", "   ", "# a comment", "  # x"}) {
    const auto out = ParseKeyLine(line);
    ASSERT_TRUE(out.has_value());
    EXPECT_FALSE(out->has_value());
  }
}

TEST(KeyLineTest, AWrongWordIsNamedButNeverAKey) {
  const auto plain = ParseKeyLine("sk-plain-text");
  ASSERT_FALSE(plain.has_value());
  EXPECT_THAT(plain.error().message, Not(HasSubstr("sk-plain")));
  for (const auto& [rest, word] :
       {std::pair(" write", "'write'"), std::pair(" read expires=tomorrow", "'tomorrow'"),
        std::pair(" read expires=2027-02-29", "'2027-02-29'"), std::pair(" read name=a/b", "'a/b'"),
        std::pair(" read quota=1", "'quota=1'"), std::pair(" read name=", "''")}) {
    const auto out = ParseKeyLine(Hex("a") + rest);
    ASSERT_FALSE(out.has_value()) << rest;
    EXPECT_THAT(out.error().message, HasSubstr(word));
  }
}

TEST(KeyLineTest, TimesAreDaysOrSecondsInUtc) {
  EXPECT_EQ(ParseTime("1970-01-02"), Time(std::chrono::hours(24)));
  EXPECT_EQ(ParseTime("1970-01-01T00:01:02Z"), Time(std::chrono::seconds(62)));
  for (const char* wrong :
       {"", "2027", "2027-1-1", "2027-13-01", "2027-01-01T24:00:00Z", "2027-01-01T00:00:00", "x027-01-01"}) {
    EXPECT_FALSE(ParseTime(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace inferflux::keys
