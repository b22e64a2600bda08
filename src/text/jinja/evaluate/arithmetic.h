// Arithmetic on numbers as in Python, except that an int has 64 bits and an overflow is an error.
#pragma once

#include <cstdint>

#include "text/jinja/evaluate/operators.h"

namespace inferflux::text::jinja {

Value Arithmetic(BinaryOp op, const Number& a, const Number& b);
// -1, 0, 1; 2 if they are unordered (NaN). An int and a float compare exactly.
int CompareNumbers(const Number& a, const Number& b);
// Rounds towards zero. Raises if the result does not fit int64.
int64_t FloatToInt(double value);
// round(value, digits), half to even on the exact decimal value.
double RoundFloat(double value, int64_t digits);
int64_t RoundInt(int64_t value, int64_t digits);

}  // namespace inferflux::text::jinja
