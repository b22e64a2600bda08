// The bytes of a saved session, which other versions and machines read.
#include "scheduler/sessions/session_format.h"

#include <gtest/gtest.h>

#include <cstring>

#include "scheduler/sessions/session_file.h"

namespace inferflux::scheduler {
namespace {

const SessionHead kHead{.fingerprint = 0x1122334455667788,
                        .key = {.owner = 5, .id = "chat"},
                        .tokens = {7, 8, 9},
                        .expires = WallTime(std::chrono::seconds(1000)),
                        .ttl = std::chrono::seconds(60)};
const std::vector<std::byte> kKv{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};

std::span<const std::byte> AsBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

std::string Said(const std::string& bytes, uint64_t fingerprint = kHead.fingerprint) {
  const auto session = DecodeSession(AsBytes(bytes), fingerprint);
  return session ? "session" : session.error().message;
}

TEST(SessionFormat, IsHeadIdTokensKvAndChecksum) {
  const std::string bytes = EncodeSession(kHead, kKv);
  EXPECT_EQ(Hex(bytes),
            "4946585345535331"
            "8877665544332211"
            "0500000000000000"
            "e803000000000000"
            "3c00000000000000"
            "0300000000000000"
            "0500000000000000"
            "0400000000000000"
            "63686174"
            "070000000800000009000000"
            "0102030405"
            "636572e022e487e0");
  EXPECT_EQ(bytes.size(), 64u + 4 + 12 + 5 + 8);
  EXPECT_EQ(SessionFileBytes(kHead, kKv.size()), bytes.size());
  const auto read = DecodeSession(AsBytes(bytes), kHead.fingerprint);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->head.fingerprint, kHead.fingerprint);
  EXPECT_EQ(read->head.key, kHead.key);
  EXPECT_EQ(read->head.tokens, kHead.tokens);
  EXPECT_EQ(read->head.expires, kHead.expires);
  EXPECT_EQ(read->head.ttl, kHead.ttl);
  EXPECT_EQ(read->kv, kKv);
}

TEST(SessionFormat, AnythingElseIsRefused) {
  const std::string bytes = EncodeSession(kHead, kKv);
  EXPECT_EQ(Said(bytes), "session");
  EXPECT_EQ(Said(bytes, 1), "the session is of another model or another kind of KV");
  EXPECT_EQ(Said(bytes + "x"), "these 94 bytes are not a session");
  EXPECT_EQ(Said(bytes.substr(0, 63)), "these 63 bytes are not a session");
  EXPECT_EQ(Said(bytes.substr(0, 64)), "these 64 bytes are not a session");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const bool sizes = at < 8 || (at >= 40 && at < 64), model = at >= 8 && at < 16;
    EXPECT_EQ(Said(damaged), sizes   ? "these 93 bytes are not a session"
                             : model ? "the session is of another model or another kind of KV"
                                     : "the session is damaged: its checksum is another")
        << at;
  }
}

TEST(SessionFormat, IdsAndTokensHaveTheirMost) {
  SessionHeader header{.id_bytes = 1024};
  EXPECT_TRUE(header.FitsIn(header.total_bytes()));
  EXPECT_FALSE(header.FitsIn(header.total_bytes() + 1));
  header.id_bytes = 1025;
  EXPECT_FALSE(header.FitsIn(header.total_bytes()));
  SessionHeader tokens{.tokens = uint64_t{1} << 28};
  EXPECT_TRUE(tokens.FitsIn(tokens.total_bytes()));
  ++tokens.tokens;
  EXPECT_FALSE(tokens.FitsIn(tokens.total_bytes()));
  SessionHeader kv{.kv_bytes = ~uint64_t{0} - 71};
  EXPECT_FALSE(kv.FitsIn(kv.total_bytes())) << "the sum overflows";
}

TEST(SessionFormat, TheChecksumAndTheFileNameStayTheSame) {
  EXPECT_EQ(fmt::format("{:016x}", SessionChecksum({}, 0)), "0000000000000000");
  EXPECT_EQ(fmt::format("{:016x}", SessionChecksum(AsBytes("eight by"), 0)), "f9f8bc02be806859");
  EXPECT_EQ(fmt::format("{:016x}", SessionChecksum(AsBytes("eight bytes and"), 7)), "5132a61a1fd5230e");
  EXPECT_EQ(SessionFileName(kHead.key), "83ecbb6e9b218436.session");
  EXPECT_NE(SessionFileName({.owner = 5, .id = "chat1"}), SessionFileName(kHead.key));
  EXPECT_NE(SessionFileName({.owner = 6, .id = "chat"}), SessionFileName(kHead.key));
}

}  // namespace
}  // namespace inferflux::scheduler
