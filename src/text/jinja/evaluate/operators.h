// Python's operators on values.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/value/runtime.h"
#include "text/jinja/value/value.h"

namespace inferflux::text::jinja {

enum class BinaryOp { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };
enum class CompareOp { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

std::string_view Symbol(BinaryOp op);
std::string_view Symbol(CompareOp op);

bool IsTrue(Runtime& rt, const Value& value);
// Equal values have equal hashes, including 1, 1.0 and True. Raises where Python raises "unhashable type".
size_t Hash(Meter& meter, const Value& value);
size_t HashText(std::string_view text);
bool IsEqual(Meter& meter, const Value& a, const Value& b);
// a < b as Python orders them; raises if Python does not order them.
bool IsLess(Runtime& rt, const Value& a, const Value& b);
bool Compare(Runtime& rt, CompareOp op, const Value& a, const Value& b);
bool Contains(Runtime& rt, const Value& container, const Value& item);

Value Binary(Runtime& rt, BinaryOp op, const Value& a, const Value& b);
Value Negate(Runtime& rt, const Value& value);
Value Plus(Runtime& rt, const Value& value);
// `a ~ b`: both as text.
Value Concat(Runtime& rt, const std::vector<Value>& parts);

// A number, including bools, for arithmetic.
struct Number {
  bool is_float;
  int64_t i;  // unless it is a float
  double f;   // always
  bool trusted;
};
std::optional<Number> AsNumber(const Value& value);

// The error for any operation on an undefined value.
void RaiseIfUndefined(const Value& value);

}  // namespace inferflux::text::jinja
