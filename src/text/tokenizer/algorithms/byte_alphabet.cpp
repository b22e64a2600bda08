#include "text/tokenizer/algorithms/byte_alphabet.h"

#include <array>

#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr bool StandsForItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

struct Alphabet {
  std::array<char32_t, 256> of_byte{};
  std::array<int16_t, 0x144> to_byte{};  // the last letter is U+0143

  constexpr Alphabet() {
    for (auto& byte : to_byte) byte = -1;
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      of_byte[byte] = StandsForItself(byte) ? static_cast<char32_t>(byte) : next++;
      to_byte[of_byte[byte]] = static_cast<int16_t>(byte);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

char32_t ByteToAlphabet(uint8_t byte) { return kAlphabet.of_byte[byte]; }

std::optional<uint8_t> AlphabetToByte(char32_t code) {
  if (code >= kAlphabet.to_byte.size() || kAlphabet.to_byte[code] < 0) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.to_byte[code]);
}

std::string DecodeByteAlphabet(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(token, at);
    const auto byte = c.valid ? AlphabetToByte(c.code) : std::nullopt;
    if (byte) {
      bytes.push_back(static_cast<char>(*byte));
    } else {
      bytes.append(token.substr(at, c.size));
    }
    at += c.size;
  }
  return bytes;
}

}  // namespace inferflux::text
