#include "keys/jwt/base64url.h"

#include <cstddef>
#include <cstdint>

namespace inferflux::keys {
namespace {

int ValueOfLetter(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}

}  // namespace

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;  // of the bits that no byte has taken yet
  for (const char c : text) {
    const int value = ValueOfLetter(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
    bits &= (1u << count) - 1;
  }
  return bits == 0 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace inferflux::keys
