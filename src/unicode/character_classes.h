// The character properties that tokenizers need. Categories are utf8proc's (Unicode 15).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inferflux::unicode {

// General categories, as coarse as pre-tokenizers distinguish them.
enum class CharClass : uint8_t {
  kOther,         // unassigned, control, format, private use, separators that are no white space
  kUpper,         // Lu, Lt
  kLower,         // Ll
  kOtherLetter,   // Lm, Lo
  kMark,          // M
  kDecimalDigit,  // Nd
  kOtherNumber,   // Nl, No
  kPunctuation,   // P
  kSymbol,        // S
  kWhiteSpace,    // White_Space
};

CharClass ClassOf(char32_t code);

// What Oniguruma's \w matches: alphabetic characters, marks, decimal digits, connecting punctuation.
bool IsWordChar(char32_t code);

// Control, format, unassigned, private use or surrogate: category C.
bool IsOtherCategory(char32_t code);

bool IsNonspacingMark(char32_t code);

// Appends the lower case of one character: several characters for U+0130.
void AppendLowercase(char32_t code, std::string& utf8);

// `text`, valid UTF-8, decomposed (NFD).
std::string Decompose(std::string_view text);

// `text` in Normalization Form C; bytes that are not UTF-8 stay as they are. Returns `text` itself if a quick check
// finds nothing to change, otherwise a view of `storage`.
std::string_view NormalizeNfc(std::string_view text, std::string& storage);

}  // namespace inferflux::unicode
