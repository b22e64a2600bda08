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

// A double in decimal, without exponent. kUnsupported where that has more than 16 digits before or behind the point.
Result<std::string> DecimalOf(double value);

// Whole numbers, or numbers with up to 16 digits behind the point, none with an exponent. Where there is no bound they
// have up to 16 digits before it. Matches nothing where no number lies between the bounds.
Expr IntegersBetween(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);
Expr NumbersBetween(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);

}  // namespace inferflux::text
