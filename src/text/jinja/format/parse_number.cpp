#include "text/jinja/format/parse_number.h"

#include <charconv>
#include <limits>
#include <string>

#include "text/jinja/builtins/strings.h"
#include "text/jinja/value/error.h"

namespace inferflux::text::jinja {
namespace {

bool IsDigitChar(char c) { return c >= '0' && c <= '9'; }

// Removes surrounding whitespace, and converts the decimal digits of every script to ASCII.
std::string Normalized(std::string_view text) {
  const auto [begin, end] = StripBounds(text, nullptr, Side::kBoth);
  std::string out;
  for (size_t byte = begin; byte < end;) {
    const CodePoint c = DecodeAt(text, byte);
    if (c.value >= 0x80 && IsDecimal(c.value)) {
      out += static_cast<char>('0' + DecimalValue(c.value));
    } else {
      out.append(text.substr(byte, c.size));
    }
    byte += c.size;
  }
  return out;
}

// Removes a leading sign; true for a minus.
bool TakeSign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

// Removes 0x, 0o or 0b and returns its base; 0 if there is none.
int TakeBasePrefix(std::string_view& text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  const char letter = static_cast<char>(text[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (base != 0) text.remove_prefix(2);
  return base;
}

// Removes single underscores between digits, which may be letters where `letters`; false if one is elsewhere.
bool RemoveUnderscores(std::string& text, bool letters) {
  const auto is_digit = [&](char c) {
    return letters ? std::isalnum(static_cast<unsigned char>(c)) != 0 : IsDigitChar(c);
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) return false;
  }
  std::erase(text, '_');
  return true;
}

// A number outside the range of double is infinite or zero, depending on the position of its first significant digit.
double OutOfRange(const std::string& text) {
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  const size_t point = std::min(text.find('.'), e);
  const size_t first = text.find_first_of("123456789");
  int64_t exponent = 0;
  if (e < text.size()) {
    const char* digits = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    const auto parsed = std::from_chars(digits, text.data() + text.size(), exponent);
    if (parsed.ec != std::errc()) exponent = text[e + 1] == '-' ? -1000000000 : 1000000000;
  }
  const int64_t place = static_cast<int64_t>(point) - static_cast<int64_t>(first) + exponent;
  return place > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace

std::optional<int64_t> ParseInt(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) Raise("int() base must be >= 2 and <= 36, or 0");
  const std::string normalized = Normalized(text);
  std::string_view rest = normalized;
  const bool negative = TakeSign(rest);
  std::string_view unprefixed = rest;
  const int prefix = TakeBasePrefix(unprefixed);
  bool had_prefix = false;
  if (prefix != 0 && (base == 0 || base == prefix)) {
    rest = unprefixed;
    base = prefix;
    had_prefix = true;
    if (rest.starts_with('_')) rest.remove_prefix(1);
  } else if (base == 0) {
    base = 10;
    // 0 is decimal zero; 010 is an error.
    if (rest.starts_with('0') && rest.find_first_not_of("0_") != std::string_view::npos) return std::nullopt;
  }
  std::string digits(rest);
  if (digits.empty() || (had_prefix && (digits[0] == '-' || digits[0] == '+'))) return std::nullopt;
  if (digits[0] == '-' || digits[0] == '+' || !RemoveUnderscores(digits, true)) return std::nullopt;
  std::string number = negative ? "-" : "";
  number += digits;
  int64_t value = 0;
  const char* end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, value, static_cast<int>(base));
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) Raise("a number does not fit a 64-bit integer");
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  const std::string normalized = Normalized(text);
  std::string_view rest = normalized;
  const bool negative = TakeSign(rest);
  std::string digits(rest);
  for (char& c : digits) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  const double sign = negative ? -1.0 : 1.0;
  if (digits == "inf" || digits == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (digits == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (digits.empty() || !(IsDigitChar(digits[0]) || digits[0] == '.')) return std::nullopt;
  if (!RemoveUnderscores(digits, false)) return std::nullopt;
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) value = OutOfRange(digits);
  return sign * value;
}

}  // namespace inferflux::text::jinja
