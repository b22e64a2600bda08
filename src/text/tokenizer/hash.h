// Fast non-cryptographic hashes for the tokenizer's tables. Tables are bounded, and a collision costs only time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace inferflux::text {

inline uint64_t MixHash(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15ULL) * (b ^ 0xD1B54A32D192ED03ULL);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashBytes(std::string_view text) {
  const char* p = text.data();
  size_t left = text.size();
  uint64_t hash = left * 0xA0761D6478BD642FULL;
  for (; left > 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    hash = MixHash(hash, word);
  }
  uint64_t word = 0;
  std::memcpy(&word, p, left);
  return MixHash(hash, word);
}

}  // namespace inferflux::text
