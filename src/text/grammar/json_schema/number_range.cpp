#include "text/grammar/json_schema/number_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace inferflux::text {
namespace {

constexpr size_t kMaxDigits = 16;  // before and after the point
constexpr int64_t kUnboundedWhole = 9'999'999'999'999'999;

// |bound| in parts; the fraction has no trailing zeros.
struct Magnitude {
  int64_t whole = 0;
  std::string fraction;
  bool exclusive = false;
  bool is_zero() const { return whole == 0 && fraction.empty(); }
};

Expr Digit(char first, char last) { return OneOf({{static_cast<char32_t>(first), static_cast<char32_t>(last)}}); }

Magnitude MagnitudeOf(const NumberBound& bound) {
  std::string_view text = bound.decimal;
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t point = text.find('.');
  Magnitude out{.whole = std::stoll(std::string(text.substr(0, point))), .fraction = {}, .exclusive = bound.exclusive};
  if (point != std::string_view::npos) out.fraction = text.substr(point + 1);
  while (out.fraction.ends_with('0')) out.fraction.pop_back();
  return out;
}

// Digit strings of one length, between two strings of that length.
Expr SameLength(std::string_view low, std::string_view high) {
  if (low.empty()) return Literal("");
  const auto count = static_cast<uint32_t>(low.size());
  if (low.find_first_not_of('0') == low.npos && high.find_first_not_of('9') == high.npos) {
    return Repeat(Digit('0', '9'), count, count);
  }
  if (low[0] == high[0]) return Sequence({Digit(low[0], low[0]), SameLength(low.substr(1), high.substr(1))});
  const std::string zeros(low.size() - 1, '0'), nines(low.size() - 1, '9');
  std::vector<Expr> ways = {Sequence({Digit(low[0], low[0]), SameLength(low.substr(1), nines)}),
                            Sequence({Digit(high[0], high[0]), SameLength(zeros, high.substr(1))})};
  if (low[0] + 1 < high[0]) {
    ways.push_back(Sequence({Digit(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)),
                             Repeat(Digit('0', '9'), count - 1, count - 1)}));
  }
  return Choice(std::move(ways));
}

// Integers without leading zeros, 0 <= low.
Expr Wholes(int64_t low, int64_t high) {
  std::vector<Expr> ways;
  while (low <= high) {
    const std::string begin = std::to_string(low);
    const std::string end = std::min(
        std::string(begin.size(), '9'), std::to_string(high),
        [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
    ways.push_back(SameLength(begin, end));
    const int64_t last = end.size() > 18 ? high : std::stoll(end);
    if (last >= high) break;
    low = last + 1;
  }
  return Choice(std::move(ways));
}

// The bounds for the remaining digits after the point; none: no bound.
struct FractionBounds {
  std::optional<std::string> low, high;
  bool low_exclusive = false, high_exclusive = false;

  bool free() const { return !low && !high; }
  bool AllowsZero() const {
    return !(low && (!low->empty() || low_exclusive)) && !(high && high->empty() && high_exclusive);
  }
};

// The effect of the next digit on a bound: the bound still applies, no longer applies, or is exceeded.
bool TakeDigit(std::optional<std::string>& bound, char digit, bool is_low) {
  if (!bound) return true;
  const char next = bound->empty() ? '0' : bound->front();
  if (digit == next) {
    if (!bound->empty()) bound->erase(0, 1);
    return true;
  }
  const bool inside = is_low ? digit > next : digit < next;
  bound.reset();
  return inside;
}

// One to `left` digits.
Expr FractionDigits(FractionBounds bounds, size_t left) {
  if (bounds.low && bounds.low->empty() && !bounds.low_exclusive) bounds.low.reset();
  if (left == 0) return Nothing();
  if (bounds.free()) return Repeat(Digit('0', '9'), 1, static_cast<uint32_t>(left));
  std::vector<Expr> ways;
  for (char digit = '0'; digit <= '9'; ++digit) {
    FractionBounds rest = bounds;
    if (!TakeDigit(rest.low, digit, true) || !TakeDigit(rest.high, digit, false)) continue;
    const Expr more = FractionDigits(rest, left - 1);
    ways.push_back(Sequence({Digit(digit, digit), rest.AllowsZero() ? Optional(more) : more}));
  }
  return Choice(std::move(ways));
}

Expr Fraction(const FractionBounds& bounds) {
  const Expr some = Sequence({Literal("."), FractionDigits(bounds, kMaxDigits)});
  return bounds.AllowsZero() ? Optional(some) : some;
}

// Non-negative numbers. `high` none: no bound.
Expr Magnitudes(const Magnitude& low, const std::optional<Magnitude>& high) {
  const FractionBounds above{.low = low.fraction, .high = {}, .low_exclusive = low.exclusive};
  if (high && high->whole < low.whole) return Nothing();
  if (high && high->whole == low.whole) {
    FractionBounds between = above;
    between.high = high->fraction;
    between.high_exclusive = high->exclusive;
    return Sequence({Wholes(low.whole, low.whole), Fraction(between)});
  }
  std::vector<Expr> ways = {
      Sequence({Wholes(low.whole, low.whole), Fraction(above)}),
      Sequence({Wholes(low.whole + 1, high ? high->whole - 1 : std::max(low.whole, kUnboundedWhole)), Fraction({})})};
  if (high) {
    const FractionBounds below{.low = {}, .high = high->fraction, .high_exclusive = high->exclusive};
    ways.push_back(Sequence({Wholes(high->whole, high->whole), Fraction(below)}));
  }
  return Choice(std::move(ways));
}

bool IsNegative(const NumberBound& bound) { return bound.decimal.starts_with('-') && !MagnitudeOf(bound).is_zero(); }

// The least and the greatest integer within the bounds of the magnitudes.
int64_t FirstWhole(const Magnitude& low) { return low.whole + (!low.fraction.empty() || low.exclusive ? 1 : 0); }
int64_t LastWhole(const Magnitude& high) { return high.whole - (high.fraction.empty() && high.exclusive ? 1 : 0); }

// Both signs. `between` builds an expression of the magnitudes from one bound to another, or without an upper bound.
template <class Between>
Expr BothSigns(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high, Between between) {
  using MaybeMagnitude = std::optional<Magnitude>;
  std::vector<Expr> ways;
  if (!high || !IsNegative(*high)) {
    const bool from_zero = !low || IsNegative(*low);
    ways.push_back(
        between(from_zero ? Magnitude{} : MagnitudeOf(*low), high ? MaybeMagnitude(MagnitudeOf(*high)) : std::nullopt));
  }
  if (!low || IsNegative(*low)) {
    const bool to_zero = !high || !IsNegative(*high);  // zero itself has no sign
    ways.push_back(Sequence({Literal("-"), between(to_zero ? Magnitude{.exclusive = true} : MagnitudeOf(*high),
                                                   low ? MaybeMagnitude(MagnitudeOf(*low)) : std::nullopt)}));
  }
  return Choice(std::move(ways));
}

}  // namespace

Result<std::string> DecimalOf(double value) {
  std::string text = fmt::format("{:.16f}", value);
  const bool exact = std::isfinite(value) && std::abs(value) < 1e16 && std::stod(text) == value;
  if (!exact) {
    return Fail(ErrorCode::kUnsupported, "{} has more than {} digits before or after the point", value, kMaxDigits);
  }
  // The shortest text for the same number.
  for (int digits = 0; digits < 16; ++digits) {
    std::string shorter = fmt::format("{:.{}f}", value, digits);
    if (std::stod(shorter) == value) return shorter;
  }
  return text;
}

Expr IntegersBetween(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high) {
  return BothSigns(low, high, [](const Magnitude& from, const std::optional<Magnitude>& to) {
    const int64_t first = FirstWhole(from);
    return Wholes(first, to ? LastWhole(*to) : std::max(first, kUnboundedWhole));
  });
}

Expr NumbersBetween(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high) {
  return BothSigns(low, high, Magnitudes);
}

}  // namespace inferflux::text
