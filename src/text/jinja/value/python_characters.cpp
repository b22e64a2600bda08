#include "text/jinja/value/python_characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace inferflux::text::jinja {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};
struct Expansion {
  char32_t from;
  char32_t to[3];  // ends early at a 0
};

#include "text/jinja/value/python_character_tables.inc"

template <size_t n>
bool Contains(const CodeRange (&ranges)[n], char32_t c) {
  const auto range = std::lower_bound(std::begin(ranges), std::end(ranges), c,
                                      [](const CodeRange& r, char32_t value) { return r.last < value; });
  return range != std::end(ranges) && range->first <= c;
}

template <size_t n>
const Expansion* Find(const Expansion (&table)[n], char32_t c) {
  const auto entry = std::lower_bound(std::begin(table), std::end(table), c,
                                      [](const Expansion& e, char32_t value) { return e.from < value; });
  return entry != std::end(table) && entry->from == c ? entry : nullptr;
}

utf8proc_category_t Category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool IsCaseIgnorable(char32_t c) {
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return Contains(kOtherCaseIgnorable, c);
  }
}

// Unicode's Final_Sigma condition: a cased letter before, none after, skipping case-ignorable characters.
bool IsFinalSigma(std::string_view text, size_t byte) {
  bool cased_before = false;
  for (size_t at = byte; at > 0;) {
    at = PreviousChar(text, at);
    const char32_t c = DecodeAt(text, at).value;
    if (IsCaseIgnorable(c)) continue;
    cased_before = IsCased(c);
    break;
  }
  if (!cased_before) return false;
  for (size_t at = byte + DecodeAt(text, byte).size; at < text.size();) {
    const CodePoint c = DecodeAt(text, at);
    if (!IsCaseIgnorable(c.value)) return !IsCased(c.value);
    at += c.size;
  }
  return true;
}

}  // namespace

CodePoint DecodeAt(std::string_view text, size_t byte) {
  const auto at = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[byte + i])); };
  const char32_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (at(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F), 4};
}

void AppendUtf8(std::string& out, char32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

size_t CountChars(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

size_t ByteOfChar(std::string_view text, size_t chars, size_t index) {
  if (chars == text.size()) return index;
  if (index >= chars) return text.size();
  size_t byte = 0;
  for (; index > 0; --index) byte += DecodeAt(text, byte).size;
  return byte;
}

size_t PreviousChar(std::string_view text, size_t byte) {
  do --byte;
  while ((text[byte] & 0xC0) == 0x80);
  return byte;
}

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t byte = 0; byte < text.size();) {
    if (static_cast<unsigned char>(text[byte]) < 0x80) {
      ++byte;
      continue;
    }
    utf8proc_int32_t code_point;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + byte,
                                       static_cast<utf8proc_ssize_t>(text.size() - byte), &code_point);
    if (size <= 0) return byte;
    byte += static_cast<size_t>(size);
  }
  return std::string_view::npos;
}

bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsLineBreak(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool IsAlpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const auto category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDecimal(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_ND; }

int DecimalValue(char32_t c) {
  const auto* const after = std::upper_bound(std::begin(kDecimalZeros), std::end(kDecimalZeros), c);
  return static_cast<int>(c - *(after - 1)) % 10;
}

bool IsDigit(char32_t c) { return IsDecimal(c) || Contains(kOtherDigit, c); }

bool IsNumeric(char32_t c) {
  const auto category = Category(c);
  return (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) || Contains(kOtherNumeric, c);
}

bool IsLower(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LL || Contains(kOtherLowercase, c); }
bool IsUpper(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LU || Contains(kOtherUppercase, c); }
bool IsTitle(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LT; }

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  const auto category = Category(c);
  return category != UTF8PROC_CATEGORY_CN && (category < UTF8PROC_CATEGORY_ZS || category > UTF8PROC_CATEGORY_CO);
}

bool IsIdentifierStart(char32_t c) { return c == '_' || IsAlpha(c) || Category(c) == UTF8PROC_CATEGORY_NL; }

bool IsIdentifierPart(char32_t c) {
  const auto category = Category(c);
  return IsIdentifierStart(c) || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_MN ||
         category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_PC;
}

void AppendMapped(std::string& out, std::string_view text, size_t byte, CaseMap map) {
  const char32_t c = DecodeAt(text, byte).value;
  const auto code_point = static_cast<utf8proc_int32_t>(c);
  const auto append_expansion = [&](const Expansion* expansion) {
    for (const char32_t to : expansion->to) {
      if (to != 0) AppendUtf8(out, to);
    }
  };
  switch (map) {
    case CaseMap::kUpper:
      if (const Expansion* expansion = Find(kUpperExpansions, c)) return append_expansion(expansion);
      return AppendUtf8(out, static_cast<char32_t>(utf8proc_toupper(code_point)));
    case CaseMap::kTitle:
      if (const Expansion* expansion = Find(kTitleExpansions, c)) return append_expansion(expansion);
      return AppendUtf8(out, static_cast<char32_t>(utf8proc_totitle(code_point)));
    case CaseMap::kLower:
      if (c == 0x130) return out.append("i\xCC\x87"), void();  // the only lower-case mapping to two code points
      if (c == 0x3A3) return AppendUtf8(out, IsFinalSigma(text, byte) ? 0x3C2 : 0x3C3);
      return AppendUtf8(out, static_cast<char32_t>(utf8proc_tolower(code_point)));
    case CaseMap::kFold: {
      utf8proc_int32_t folded[4];
      int boundary_class = 0;
      const auto count = utf8proc_decompose_char(code_point, folded, 4, UTF8PROC_CASEFOLD, &boundary_class);
      for (utf8proc_ssize_t i = 0; i < count; ++i) AppendUtf8(out, static_cast<char32_t>(folded[i]));
    }
  }
}

}  // namespace inferflux::text::jinja
