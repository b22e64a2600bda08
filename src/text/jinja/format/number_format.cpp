#include "text/jinja/format/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace inferflux::text::jinja {
namespace {

std::string SignText(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? std::string() : std::string(1, sign);
}

// Inserts separators between groups of the leading digits, which end at the first other character.
std::string Group(std::string digits, char separator, size_t group) {
  if (separator == '\0') return digits;
  size_t end = 0;
  while (end < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[end])) != 0) ++end;
  for (size_t at = end; at > group;) {
    at -= group;
    digits.insert(at, 1, separator);
  }
  return digits;
}

std::string ToChars(double value, std::chars_format format, int precision) {
  std::string out(static_cast<size_t>(precision) + 350, '\0');
  const auto printed = std::to_chars(out.data(), out.data() + out.size(), value, format, precision);
  out.resize(static_cast<size_t>(printed.ptr - out.data()));
  return out;
}

// As C's %g, except that the exponent from which the number has one is given.
std::string General(double magnitude, int precision, int first_exponent, bool keep_zeros) {
  std::string out = ToChars(magnitude, std::chars_format::scientific, precision - 1);
  const int exponent = std::stoi(out.substr(out.find('e') + 1));
  if (exponent >= -4 && exponent < first_exponent) {
    out = ToChars(magnitude, std::chars_format::fixed, precision - 1 - exponent);
  }
  const size_t end = std::min(out.find('e'), out.size());
  if (keep_zeros || out.find('.') == std::string::npos) return out;
  size_t kept = out.find_last_not_of('0', end - 1);
  if (out[kept] != '.') ++kept;
  return out.erase(kept, end - kept);
}

void ToUpper(std::string& text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
}

}  // namespace

std::string WithPoint(std::string digits) {
  if (digits.find('.') == std::string::npos) digits.insert(std::min(digits.find('e'), digits.size()), 1, '.');
  return digits;
}

NumberText FormatInt(int64_t value, const NumberFormat& format) {
  const int base = format.type == 'b' ? 2 : format.type == 'o' ? 8 : (format.type | 0x20) == 'x' ? 16 : 10;
  const uint64_t magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  char buffer[72];
  const auto printed = std::to_chars(buffer, buffer + sizeof(buffer), magnitude, base);
  NumberText out{SignText(value < 0, format.sign), std::string(buffer, printed.ptr)};
  if (static_cast<int>(out.digits.size()) < format.precision) {
    out.digits.insert(0, static_cast<size_t>(format.precision) - out.digits.size(), '0');
  }
  out.digits = Group(std::move(out.digits), format.grouping, base == 10 ? 3 : 4);
  if (format.alternate && base != 10) out.prefix += {'0', format.type};
  if (format.type == 'X') ToUpper(out.digits);
  return out;
}

NumberText FormatFloat(double value, const NumberFormat& format) {
  const char type = static_cast<char>(format.type | 0x20);
  const bool is_percent = format.type == '%';
  if (is_percent) value *= 100;
  NumberText out{SignText(std::signbit(value) && !std::isnan(value), format.sign), ""};
  const double magnitude = std::fabs(value);
  int precision = format.precision < 0 ? 6 : format.precision;
  if (!std::isfinite(magnitude)) {
    out.digits = std::isnan(magnitude) ? "nan" : "inf";
  } else if (type == 'e') {
    out.digits = ToChars(magnitude, std::chars_format::scientific, precision);
  } else if (type == 'g' || format.type == '\0') {
    precision = std::max(precision, 1);
    out.digits = General(magnitude, precision, format.type == '\0' ? precision - 1 : precision, format.alternate);
  } else {
    out.digits = ToChars(magnitude, std::chars_format::fixed, precision);
  }
  if (std::isfinite(magnitude)) {
    if (format.alternate) out.digits = WithPoint(std::move(out.digits));
    out.digits = Group(std::move(out.digits), format.grouping, 3);
  }
  if (format.type == 'E' || format.type == 'G' || format.type == 'F') ToUpper(out.digits);
  if (is_percent) out.digits += '%';
  return out;
}

}  // namespace inferflux::text::jinja
