// Each word of a key's line, at the edges of what is accepted.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "keys/key_line.h"

namespace inferflux::keys {
namespace {

const std::string kDigits = ToHex(HashOf("a"));

// The key of a line that begins with the hash.
KeyLine KeyOf(const std::string& rest) {
  const auto out = ParseKeyLine(kDigits + rest);
  EXPECT_TRUE(out.has_value() && out->has_value()) << rest << (out ? "" : out.error().message);
  return out && *out ? **out : KeyLine();
}

std::string WhyNot(const std::string& line) {
  const auto out = ParseKeyLine(line);
  EXPECT_FALSE(out.has_value()) << line;
  if (out) return "";
  EXPECT_EQ(out.error().code, ErrorCode::kInvalidArgument);
  return out.error().message;
}

TEST(KeyLineWordsTest, AHashHas64HexadecimalDigits) {
  std::string capitals = kDigits;
  for (char& c : capitals) c = static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
  EXPECT_EQ((*ParseKeyLine(capitals))->hash, HashOf("a"));
  const std::string why = "not a SHA-256 hash of 64 hexadecimal digits; make one with: printf %s KEY | sha256sum";
  for (const std::string& wrong :
       {kDigits + "0", kDigits + "00", kDigits.substr(1), kDigits.substr(2), "g" + kDigits.substr(1),
        kDigits.substr(0, 63) + "g", "-" + kDigits.substr(1), "0x" + kDigits.substr(2)}) {
    EXPECT_EQ(WhyNot(wrong), why);
  }
}

TEST(KeyLineWordsTest, ALineIsWrittenWithEveryWord) {
  const KeyLine key{
      .hash = HashOf("a"),
      .scopes = kEveryScope,
      .name = "me",
      .expires = ParseTime("2026-12-31T23:59:58Z"),
      .limits =
          {.running = 1, .queued = 2, .body_bytes = 3, .connections = 4, .preparations = 5, .tokens_per_minute = 0},
      .comment = {}};
  EXPECT_EQ(FormatKeyLine(key), kDigits +
                                    " read,generate,load,metrics,admin name=me expires=2026-12-31T23:59:58Z running=1 "
                                    "queued=2 body_bytes=3 connections=4 preparations=5 tokens_per_minute=0");
  EXPECT_EQ(FormatKeyLine({.hash = HashOf("a"), .name = {}, .limits = {}, .comment = {}}), kDigits + " read,generate");
}

TEST(KeyLineWordsTest, OptionsMayStandInAnyOrderBehindTheScopes) {
  const KeyLine key = KeyOf(
      "\tmetrics tokens_per_minute=6 preparations=5 connections=4 body_bytes=3 queued=2 running=1 expires=1970-01-02 "
      "name=n # c");
  EXPECT_EQ(
      key.limits,
      (Limits{
          .running = 1, .queued = 2, .body_bytes = 3, .connections = 4, .preparations = 5, .tokens_per_minute = 6}));
  EXPECT_EQ(key.scopes, static_cast<Scopes>(Scope::kMetrics));
  EXPECT_EQ(key.expires, Time(std::chrono::hours(24)));
  EXPECT_EQ(key.name, "n");
  EXPECT_EQ(key.comment, "c");
  EXPECT_EQ(KeyOf(" - name=n").name, "n") << "as sha256sum writes a line";
}

TEST(KeyLineWordsTest, AWrongWordIsSaidWithWhatWouldBeRight) {
  const std::string option =
      " is not name=NAME, expires=TIME or a limit, such as queued=8; limits are running, queued, "
      "body_bytes, connections, preparations, tokens_per_minute";
  EXPECT_EQ(WhyNot(kDigits + " read - "), "'-'" + option) << "a dash means: the default scopes";
  EXPECT_EQ(WhyNot(kDigits + " - read"), "'read'" + option) << "and not before them";
  EXPECT_EQ(WhyNot(kDigits + " name=x read"), "'read'" + option) << "scopes come first";
  EXPECT_EQ(WhyNot(kDigits + " read quota=1"), "'quota=1'" + option);
  EXPECT_EQ(WhyNot(kDigits + " read name"), "'' is not a valid name: use at most 64 letters, digits and ._-");
  EXPECT_EQ(WhyNot(kDigits + " read,write"),
            "'read,write' is not a list of scopes; they are read,generate,load,metrics,admin");
  EXPECT_EQ(WhyNot(kDigits + " expires=now"), "'now' is not a time; write 2027-01-31 or 2027-01-31T12:00:00Z");
  EXPECT_EQ(WhyNot(kDigits + " preparations=65"), "'preparations=65' is not a whole number from 0 (no limit) to 64");
  EXPECT_EQ(KeyOf(" preparations=64").limits.preparations, 64);
}

TEST(KeyLineWordsTest, ANameHasUpTo64LettersDigitsAndMarks) {
  EXPECT_TRUE(IsKeyName("azAZ09._-"));
  EXPECT_TRUE(IsKeyName(std::string(64, 'x')));
  EXPECT_FALSE(IsKeyName(std::string(65, 'x')));
  EXPECT_FALSE(IsKeyName(""));
  for (const char c : std::string_view("`{@[/:,+ \t=#\0", 13)) EXPECT_FALSE(IsKeyName(std::string("a") + c + "b")) << c;
}

TEST(KeyLineWordsTest, ACommentIsWithoutTheSpaceAroundItAndNotLong) {
  EXPECT_EQ(KeyOf("").comment, "");
  EXPECT_EQ(KeyOf("#").comment, "");
  EXPECT_EQ(KeyOf("# \t").comment, "");
  EXPECT_EQ(KeyOf(" #a").comment, "a");
  EXPECT_EQ(KeyOf(" # \t alice # of sales \t\r").comment, "alice # of sales");
  EXPECT_EQ(KeyOf(" # " + std::string(64, 'x')).comment, std::string(64, 'x'));
  EXPECT_EQ(KeyOf(" # " + std::string(70, 'x') + "y").comment, std::string(64, 'x'));
}

TEST(KeyLineWordsTest, TimesExistInTheCalendar) {
  const auto seconds = [](std::string_view text) {
    const auto time = ParseTime(text);
    return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
  };
  EXPECT_EQ(seconds("2024-02-29"), 1'709'164'800);
  EXPECT_EQ(seconds("2026-12-31T23:59:59Z"), 1'798'761'599);
  EXPECT_EQ(seconds("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(seconds("1969-12-31T23:59:59Z"), -1);
  EXPECT_TRUE(seconds("0000-01-01"));
  EXPECT_TRUE(seconds("9999-12-31"));
  for (const char* wrong : {"2026-00-01",
                            "2026-13-01",
                            "2026-01-00",
                            "2026-01-32",
                            "2026-02-29",
                            "2026/01-01",
                            "2026-01/01",
                            "202x-01-01",
                            "2026-0x-01",
                            "2026-01-x1",
                            "2026-01-011",
                            "026-01-01",
                            "2026-01-01T24:00:00Z",
                            "2026-01-01T00:60:00Z",
                            "2026-01-01T00:00:60Z",
                            "2026-01-01 00:00:00Z",
                            "2026-01-01T00-00:00Z",
                            "2026-01-01T00:00-00Z",
                            "2026-01-01T00:00:00z",
                            "2026-01-01T00:00:00ZZ",
                            "2026-01-01T00:00:0Z",
                            "2026-01-01Tx0:00:00Z",
                            "2026-01-01T00:x0:00Z",
                            "2026-01-01T00:00:x0Z",
                            "2026-01-01T00:00:00:Z",
                            "+026-01-01",
                            "2026-01-01T-1:00:00Z"}) {
    EXPECT_EQ(seconds(wrong), std::nullopt) << wrong;
  }
  for (const char* text : {"0001-02-03T04:05:06Z", "2026-12-31T23:59:58Z", "1969-12-31T23:59:59Z"}) {
    EXPECT_EQ(FormatTime(*ParseTime(text)), text);
  }
}

TEST(KeyLineWordsTest, AKeyExpiresAtItsTime) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto expired = [](std::optional<Time> time) {
    KeyLine key;
    key.expires = time;
    return IsExpired(key);
  };
  EXPECT_TRUE(expired(now));
  EXPECT_FALSE(expired(now + std::chrono::hours(1)));
  EXPECT_FALSE(expired(std::nullopt));
}

}  // namespace
}  // namespace inferflux::keys
