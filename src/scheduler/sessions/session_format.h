// A session as bytes, the same in a file and in a store that machines share: a header, its id, its tokens, their KV,
// and a checksum of everything, in this machine's byte order, like the KV. It carries the model's fingerprint.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"

namespace inferflux::scheduler {

struct SessionKey {
  uint64_t owner = 0;  // from the salt, which no file contains
  std::string id;

  auto operator<=>(const SessionKey&) const = default;
};

using WallTime = std::chrono::sys_seconds;

inline WallTime WallTimeIn(std::chrono::nanoseconds wait) {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now() + wait);
}

// KV that a file, the memory and a write in flight may share. Never changed.
using SharedKv = std::shared_ptr<const std::vector<std::byte>>;

// A session without its KV.
struct SessionHead {
  uint64_t fingerprint = 0;  // of the model and its KV
  SessionKey key;
  std::vector<TokenId> tokens;
  WallTime expires;
  std::chrono::seconds ttl{};
};

constexpr std::array<char, 8> kSessionMagic{'I', 'F', 'X', 'S', 'E', 'S', 'S', '1'};

struct SessionHeader {
  std::array<char, 8> magic = kSessionMagic;
  uint64_t fingerprint = 0;
  uint64_t owner = 0;
  int64_t expires = 0;  // seconds since 1970
  int64_t ttl = 0;
  uint64_t tokens = 0;
  uint64_t kv_bytes = 0;
  uint64_t id_bytes = 0;

  static SessionHeader Of(const SessionHead& head, size_t kv_bytes);

  // Of the header and everything after it.
  uint64_t total_bytes() const {
    return sizeof(SessionHeader) + id_bytes + tokens * sizeof(TokenId) + kv_bytes + sizeof(uint64_t);
  }
  // Whether so many bytes can be a session with this header. Nothing of it overflows then.
  bool FitsIn(uint64_t bytes) const;
};

// The checksum at the end: `sum` is that of what comes before `bytes`, and 0 at the start.
uint64_t SessionChecksum(std::span<const std::byte> bytes, uint64_t sum);

// The whole session in one piece.
std::string EncodeSession(const SessionHead& head, std::span<const std::byte> kv);

struct DecodedSession {
  SessionHead head;
  std::vector<std::byte> kv;
};

// kDataLoss if these are not the bytes of a session of this model.
Result<DecodedSession> DecodeSession(std::span<const std::byte> bytes, uint64_t fingerprint);

}  // namespace inferflux::scheduler
