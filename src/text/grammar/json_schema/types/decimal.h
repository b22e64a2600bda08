// Numbers of a schema as exact decimals: 0.1 is one tenth.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>

namespace inferflux::text {

struct Decimal {
  int64_t digits = 0;
  uint32_t places = 0;  // the value is digits / 10^places
};

// None if the number needs more than 18 digits.
std::optional<Decimal> ExactDecimal(const boost::json::value& number);

// Whether `number` is a multiple of `divisor`, which is above zero; none if that takes too many digits to decide.
std::optional<bool> IsMultiple(const boost::json::value& number, const boost::json::value& divisor);

}  // namespace inferflux::text
