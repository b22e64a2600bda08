// Formats numbers as text; % and str.format share these forms.
#pragma once

#include <cstdint>
#include <string>

namespace inferflux::text::jinja {

struct NumberFormat {
  char type = 'g';         // d b o x X e E f F g G %; of a float '\0': as g, and with an exponent one digit earlier
  int precision = -1;      // -1: the type's own
  char sign = '-';         // '-': only for negatives, '+': always, ' ': a space for positives
  bool alternate = false;  // 0x and the like; a float keeps its point, and its zeros in g
  char grouping = '\0';    // ',' or '_' between groups of digits
};

constexpr int kMaxPrecision = 1000;

// A number's text in two parts, so that zeros can be inserted between them.
struct NumberText {
  std::string prefix;  // sign and base
  std::string digits;
};
NumberText FormatInt(int64_t value, const NumberFormat& format);
NumberText FormatFloat(double value, const NumberFormat& format);
// A finite float's digits with a decimal point, at the end of the whole part if there was none.
std::string WithPoint(std::string digits);

}  // namespace inferflux::text::jinja
