// SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104), by OpenSSL.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace inferflux::session_store {

using Digest = std::array<unsigned char, 32>;

Digest Sha256(std::string_view data);

// Of the parts one after the other.
Digest HmacSha256(std::string_view key, std::span<const std::string_view> parts);

// The digest's bytes, as a key or as data.
inline std::string_view BytesOf(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string Hex(const Digest& digest);

}  // namespace inferflux::session_store
