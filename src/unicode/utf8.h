// UTF-8 with errors as values. An invalid sequence becomes one U+FFFD for each maximal subpart (Unicode 15, chapter
// 3.9, "U+FFFD substitution of maximal subparts"), as with Python's errors="replace".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inferflux::unicode {

constexpr char32_t kReplacementChar = 0xFFFD;
constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";
// U+2581, which SentencePiece writes for a space.
constexpr char32_t kSpaceMark = 0x2581;
constexpr std::string_view kSpaceMarkUtf8 = "\xE2\x96\x81";

struct Utf8Char {
  char32_t code;  // U+FFFD where invalid
  uint8_t size;   // bytes consumed: 1 to 4
  bool valid;
  bool truncated;  // invalid only because the text ends here: further bytes could complete it
};

// Decodes the character at `at`; at < text.size().
Utf8Char DecodeUtf8(std::string_view text, size_t at);

void AppendUtf8(char32_t code, std::string& out);

bool IsValidUtf8(std::string_view text);

// `text` with each invalid sequence replaced by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

// `text` with each byte of an invalid sequence replaced by U+0001, so that offsets do not change. Returns `text` itself
// if it is valid, otherwise a view of `storage`. U+0001 is not a letter, number, space or punctuation, so
// pre-tokenizers keep such bytes together and apart from words.
std::string_view MaskInvalidUtf8(std::string_view text, std::string& storage);

// A copy of `text` with every `from` replaced by `to`.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

}  // namespace inferflux::unicode
