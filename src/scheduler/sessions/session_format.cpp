#include "scheduler/sessions/session_format.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/mix64.h"

namespace inferflux::scheduler {
namespace {

constexpr uint64_t kMaxIdBytes = 1024;
constexpr uint64_t kMaxTokens = uint64_t{1} << 28;

void Append(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The next `out.size()` bytes.
void Take(std::span<const std::byte>& from, std::span<std::byte> out) {
  std::ranges::copy(from.first(out.size()), out.begin());
  from = from.subspan(out.size());
}

}  // namespace

SessionHeader SessionHeader::Of(const SessionHead& head, size_t kv_bytes) {
  return {.fingerprint = head.fingerprint,
          .owner = head.key.owner,
          .expires = head.expires.time_since_epoch().count(),
          .ttl = head.ttl.count(),
          .tokens = head.tokens.size(),
          .kv_bytes = kv_bytes,
          .id_bytes = head.key.id.size()};
}

bool SessionHeader::FitsIn(uint64_t bytes) const {
  return magic == kSessionMagic && id_bytes <= kMaxIdBytes && tokens <= kMaxTokens && kv_bytes <= bytes &&
         total_bytes() == bytes;
}

// Each step is a bijection of the previous state and of the word, so a change of any one word always changes the
// result.
uint64_t SessionChecksum(std::span<const std::byte> bytes, uint64_t sum) {
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t size = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), size);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
    bytes = bytes.subspan(size);
  }
  return Mix64(sum);
}

std::string EncodeSession(const SessionHead& head, std::span<const std::byte> kv) {
  const SessionHeader header = SessionHeader::Of(head, kv.size());
  std::string out;
  out.reserve(header.total_bytes());
  uint64_t sum = 0;
  for (const auto part : {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(head.key.id)),
                          std::as_bytes(std::span(head.tokens)), kv}) {
    sum = SessionChecksum(part, sum);
    Append(out, part);
  }
  Append(out, std::as_bytes(std::span(&sum, 1)));
  return out;
}

Result<DecodedSession> DecodeSession(std::span<const std::byte> bytes, uint64_t fingerprint) {
  SessionHeader header;
  std::span<const std::byte> rest = bytes;
  if (bytes.size() >= sizeof header) Take(rest, std::as_writable_bytes(std::span(&header, 1)));
  if (bytes.size() < sizeof header || !header.FitsIn(bytes.size())) {
    return Fail(ErrorCode::kDataLoss, "these {} bytes are not a session", bytes.size());
  }
  if (header.fingerprint != fingerprint) {
    return Fail(ErrorCode::kDataLoss, "the session is of another model or another kind of KV");
  }
  DecodedSession out{.head = {.fingerprint = fingerprint,
                              .key = {.owner = header.owner, .id = std::string(header.id_bytes, '\0')},
                              .tokens = std::vector<TokenId>(header.tokens),
                              .expires = WallTime(std::chrono::seconds(header.expires)),
                              .ttl = std::chrono::seconds(header.ttl)},
                     .kv = std::vector<std::byte>(header.kv_bytes)};
  uint64_t sum = SessionChecksum(std::as_bytes(std::span(&header, 1)), 0);
  for (const auto part : {std::as_writable_bytes(std::span(out.head.key.id)),
                          std::as_writable_bytes(std::span(out.head.tokens)), std::span(out.kv)}) {
    Take(rest, part);
    sum = SessionChecksum(part, sum);
  }
  if (std::memcmp(rest.data(), &sum, sizeof sum) != 0) {
    return Fail(ErrorCode::kDataLoss, "the session is damaged: its checksum is another");
  }
  return out;
}

}  // namespace inferflux::scheduler
