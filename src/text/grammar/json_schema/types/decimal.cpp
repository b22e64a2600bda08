#include "text/grammar/json_schema/types/decimal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "text/grammar/json_schema/number_range.h"

namespace inferflux::text {
namespace {

constexpr int64_t kMost = 999'999'999'999'999'999;

// None if the result has more than 18 digits.
std::optional<int64_t> Shifted(int64_t digits, uint32_t places) {
  for (uint32_t i = 0; i < places; ++i) {
    if (std::abs(digits) > kMost / 10) return std::nullopt;
    digits *= 10;
  }
  return digits;
}

}  // namespace

std::optional<Decimal> ExactDecimal(const boost::json::value& number) {
  if (const auto* whole = number.if_int64()) {
    return *whole > kMost || *whole < -kMost ? std::nullopt : std::optional(Decimal{.digits = *whole});
  }
  if (!number.is_double()) return std::nullopt;
  const auto text = DecimalOf(number.get_double());
  if (!text) return std::nullopt;
  Decimal out;
  size_t used = 0;
  bool fraction = false;
  for (const char c : *text) {
    if (c == '-') continue;
    if (c == '.') {
      fraction = true;
      continue;
    }
    if (out.digits != 0 && ++used > 17) return std::nullopt;
    out.digits = out.digits * 10 + (c - '0');
    out.places += fraction ? 1 : 0;
  }
  while (out.places > 0 && out.digits % 10 == 0) out.digits /= 10, --out.places;
  if (text->starts_with('-')) out.digits = -out.digits;
  return out;
}

std::optional<bool> IsMultiple(const boost::json::value& number, const boost::json::value& divisor) {
  const auto of = ExactDecimal(divisor), value = ExactDecimal(number);
  if (!of || !value || of->digits <= 0) return std::nullopt;
  const uint32_t places = std::max(of->places, value->places);
  const auto left = Shifted(value->digits, places - value->places), right = Shifted(of->digits, places - of->places);
  if (!left || !right) return std::nullopt;
  return *left % *right == 0;
}

}  // namespace inferflux::text
