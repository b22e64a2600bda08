#include "text/jinja/evaluate/arithmetic.h"

#include <charconv>
#include <cmath>
#include <string>

namespace inferflux::text::jinja {
namespace {

[[noreturn]] void RaiseOverflow(BinaryOp op) { Raise("the result of {} does not fit a 64-bit integer", Symbol(op)); }

int64_t IntPower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) RaiseOverflow(BinaryOp::kPow);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) RaiseOverflow(BinaryOp::kPow);
  }
  return result;
}

int64_t IntOperation(BinaryOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &out)) RaiseOverflow(op);
      return out;
    case BinaryOp::kSub:
      if (__builtin_sub_overflow(a, b, &out)) RaiseOverflow(op);
      return out;
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(a, b, &out)) RaiseOverflow(op);
      return out;
    case BinaryOp::kPow:
      return IntPower(a, b);
    default:
      break;
  }
  if (b == 0) Raise("integer division or modulo by zero");
  if (b == -1) {  // the machine's division traps at INT64_MIN / -1
    if (op == BinaryOp::kMod) return 0;
    return IntOperation(BinaryOp::kSub, 0, a);
  }
  const int64_t quotient = a / b;
  const int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);  // Python rounds towards minus infinity
  if (op == BinaryOp::kMod) return adjust ? remainder + b : remainder;
  return adjust ? quotient - 1 : quotient;
}

double FloatMod(double a, double b) {
  double mod = std::fmod(a, b);
  if (mod == 0) return std::copysign(0.0, b);
  if ((b < 0) != (mod < 0)) mod += b;
  return mod;
}

double FloatFloorDiv(double a, double b) {
  double mod = std::fmod(a, b);
  double quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

double FloatOperation(BinaryOp op, double a, double b) {
  if (b == 0 && (op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kMod)) Raise("division by zero");
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kFloorDiv:
      return FloatFloorDiv(a, b);
    case BinaryOp::kMod:
      return FloatMod(a, b);
    case BinaryOp::kPow:
      break;
  }
  if (a == 0 && b < 0) Raise("0.0 cannot be raised to a negative power");
  const double power = std::pow(a, b);
  if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) Raise("a negative number has no real power {}", b);
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) Raise("the result of ** is too large");
  return power;
}

}  // namespace

Value Arithmetic(BinaryOp op, const Number& a, const Number& b) {
  const bool trusted = a.trusted && b.trusted;
  const bool to_float = op == BinaryOp::kDiv || (op == BinaryOp::kPow && !b.is_float && b.i < 0);
  if (!a.is_float && !b.is_float && !to_float) return Value::Int(IntOperation(op, a.i, b.i), trusted);
  return Value::Float(FloatOperation(op, a.f, b.f), trusted);
}

int CompareNumbers(const Number& a, const Number& b) {
  if (!a.is_float && !b.is_float) return a.i < b.i ? -1 : a.i > b.i;
  // 64 bits of mantissa hold every int64 and every double.
  const long double x = a.is_float ? static_cast<long double>(a.f) : static_cast<long double>(a.i);
  const long double y = b.is_float ? static_cast<long double>(b.f) : static_cast<long double>(b.i);
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y;
}

int64_t FloatToInt(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63)) Raise("{} does not fit a 64-bit integer", value);
  return static_cast<int64_t>(value);
}

double RoundFloat(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / scale) * scale;
  }
  char text[700];
  const auto printed =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, static_cast<int>(digits));
  double rounded = value;
  std::from_chars(text, printed.ptr, rounded);
  return rounded;
}

int64_t RoundInt(int64_t value, int64_t digits) {
  if (digits >= 0) return value;
  if (digits < -18) return 0;
  const int64_t scale = IntPower(10, -digits);
  const int64_t floor = IntOperation(BinaryOp::kFloorDiv, value, scale);
  const int64_t rest = IntOperation(BinaryOp::kMod, value, scale);
  const bool up = rest > scale - rest || (rest == scale - rest && floor % 2 != 0);
  return IntOperation(BinaryOp::kMul, up ? floor + 1 : floor, scale);
}

}  // namespace inferflux::text::jinja
