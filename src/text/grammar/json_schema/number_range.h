// Numbers between bounds, as grammars over their decimal digits.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// A bound of a range, as decimal text: "-12.5". No exponent.
struct NumberBound {
  std::string decimal;
  bool exclusive = false;
};

// A double in decimal notation, without exponent. kUnsupported if that needs more than 16 digits before or after the
// point.
Result<std::string> DecimalOf(double value);

// Integers, or numbers with up to 16 digits after the point, without exponent. Without a bound they have up to 16
// digits before the point. Matches nothing if no number is within the bounds.
Expr IntegersBetween(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);
Expr NumbersBetween(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);

}  // namespace inferflux::text
