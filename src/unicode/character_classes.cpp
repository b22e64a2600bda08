#include "unicode/character_classes.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "unicode/utf8.h"

namespace inferflux::unicode {
namespace {

constexpr char32_t kMaxCode = 0x10FFFF;

bool IsWhiteSpace(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

CharClass Classify(char32_t code) {
  if (IsWhiteSpace(code)) return CharClass::kWhiteSpace;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return CharClass::kUpper;
    case UTF8PROC_CATEGORY_LL:
      return CharClass::kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::kOtherLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return CharClass::kMark;
    case UTF8PROC_CATEGORY_ND:
      return CharClass::kDecimalDigit;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::kOtherNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return CharClass::kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return CharClass::kSymbol;
    default:
      return CharClass::kOther;
  }
}

utf8proc_category_t CategoryOf(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

// utf8proc's map with the given options. Empty if utf8proc refuses the text, which it does only for invalid UTF-8.
std::string Map(std::string_view text, int options) {
  utf8proc_uint8_t* raw = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &raw, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(raw, &std::free);
  if (length < 0) return {};
  return {reinterpret_cast<const char*>(owned.get()), static_cast<size_t>(length)};
}

// Below U+0300 nothing combines and everything is normalised. The lead byte of U+0300 is 0xCC.
bool MayNeedNfc(std::string_view text) {
  for (const char c : text) {
    if (static_cast<uint8_t>(c) >= 0xCC) return true;
  }
  return false;
}

}  // namespace

CharClass ClassOf(char32_t code) {
  static const std::vector<CharClass> table = [] {
    std::vector<CharClass> classes(kMaxCode + 1);
    for (char32_t c = 0; c <= kMaxCode; ++c) classes[c] = Classify(c);
    return classes;
  }();
  return code <= kMaxCode ? table[code] : CharClass::kOther;
}

bool IsWordChar(char32_t code) {
  switch (ClassOf(code)) {
    case CharClass::kUpper:
    case CharClass::kLower:
    case CharClass::kOtherLetter:
    case CharClass::kMark:
    case CharClass::kDecimalDigit:
      return true;
    case CharClass::kOtherNumber:  // Oniguruma, for which models' patterns were written, also accepts Latin-1's
                                   // fractions
      return code < 0x100 || CategoryOf(code) == UTF8PROC_CATEGORY_NL;
    case CharClass::kSymbol:  // letters in circles and squares are alphabetic
      return (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
             (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
    case CharClass::kPunctuation:
      return CategoryOf(code) == UTF8PROC_CATEGORY_PC;
    default:
      return false;
  }
}

bool IsOtherCategory(char32_t code) {
  switch (CategoryOf(code)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

bool IsNonspacingMark(char32_t code) { return CategoryOf(code) == UTF8PROC_CATEGORY_MN; }

void AppendLowercase(char32_t code, std::string& utf8) {
  if (code == 0x130) {  // the only character whose lower case has two characters in every context (SpecialCasing.txt)
    utf8 += "i\xCC\x87";
    return;
  }
  AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))), utf8);
}

std::string Decompose(std::string_view text) { return Map(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE); }

std::string_view NormalizeNfc(std::string_view text, std::string& storage) {
  if (!MayNeedNfc(text)) return text;
  storage.clear();
  size_t begin = 0;
  for (size_t at = 0; at <= text.size();) {
    const bool end = at == text.size();
    const Utf8Char c = end ? Utf8Char{} : DecodeUtf8(text, at);
    if (!end && c.valid) {
      at += c.size;
      continue;
    }
    if (at > begin) storage += Map(text.substr(begin, at - begin), UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (end) break;
    storage.append(text.substr(at, c.size));
    begin = at += c.size;
  }
  return storage;
}

}  // namespace inferflux::unicode
