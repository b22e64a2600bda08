// UTF-8 and the character classes and case mappings of Python's str methods. All text is valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inferflux::text::jinja {

struct CodePoint {
  char32_t value;
  size_t size;  // its bytes in UTF-8
};

CodePoint DecodeAt(std::string_view text, size_t byte);
void AppendUtf8(std::string& out, char32_t code_point);
size_t CountChars(std::string_view text);
// The byte where character `index` begins; text.size() for index == CountChars(text). `chars` is CountChars(text).
size_t ByteOfChar(std::string_view text, size_t chars, size_t index);
// The byte where the character before `byte` begins; byte > 0.
size_t PreviousChar(std::string_view text, size_t byte);
// The byte at which `text` stops being valid UTF-8, or npos.
size_t FindInvalidUtf8(std::string_view text);

bool IsSpace(char32_t c);
bool IsLineBreak(char32_t c);  // where str.splitlines splits
bool IsAlpha(char32_t c);
bool IsDecimal(char32_t c);
int DecimalValue(char32_t c);  // of what IsDecimal
bool IsDigit(char32_t c);
bool IsNumeric(char32_t c);
bool IsLower(char32_t c);
bool IsUpper(char32_t c);
bool IsTitle(char32_t c);
bool IsPrintable(char32_t c);
bool IsIdentifierStart(char32_t c);
bool IsIdentifierPart(char32_t c);
inline bool IsAlphanumeric(char32_t c) { return IsAlpha(c) || IsDecimal(c) || IsDigit(c) || IsNumeric(c); }
inline bool IsCased(char32_t c) { return IsLower(c) || IsUpper(c) || IsTitle(c); }

enum class CaseMap { kUpper, kLower, kTitle, kFold };
// Appends the full mapping of the character at `byte` of `text`: up to three code points. The final sigma of a word has
// its own lower-case form.
void AppendMapped(std::string& out, std::string_view text, size_t byte, CaseMap map);

}  // namespace inferflux::text::jinja
