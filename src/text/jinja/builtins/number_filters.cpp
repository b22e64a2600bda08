#include <array>
#include <cmath>

#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/evaluate/arithmetic.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/parse_number.h"

namespace inferflux::text::jinja {
namespace {

Value Abs(Runtime& rt, const Value& self, const Arguments&) {
  const auto number = AsNumber(self);
  if (!number) Raise("bad operand type for abs(): '{}'", self.TypeName());
  if (number->is_float) return Value::Float(std::fabs(number->f), number->trusted);
  return number->i < 0 ? Negate(rt, self) : Value::Int(number->i, number->trusted);
}

std::optional<double> ToFloat(const Value& value) {
  RaiseIfUndefined(value);
  if (const Str* str = value.AsStr()) return ParseFloat(str->view());
  const auto number = AsNumber(value);
  return number ? std::optional(number->f) : std::nullopt;
}

bool IsTrustedScalar(const Value& value) {
  if (const Str* str = value.AsStr()) return str->text().AllTrusted();
  const auto number = AsNumber(value);
  return number && number->trusted;
}

Value Int(Runtime&, const Value& self, const Arguments& args) {
  const Value otherwise = args[0] != nullptr ? *args[0] : Value::Int(0, true);
  const bool trusted = IsTrustedScalar(self);
  if (const Str* str = self.AsStr()) {
    if (const auto value = ParseInt(str->view(), args.Int(1, 10))) return Value::Int(*value, trusted);
  } else if (const auto number = AsNumber(self); number && !number->is_float) {
    return Value::Int(number->i, trusted);
  }
  const auto value = ToFloat(self);  // "42.23"|int is 42
  if (!value || std::isnan(*value)) return otherwise;
  if (std::isinf(*value)) {
    if (self.IsStr()) return otherwise;
    Raise("cannot convert float infinity to integer");
  }
  return Value::Int(FloatToInt(*value), trusted);
}

Value Float(Runtime&, const Value& self, const Arguments& args) {
  if (const auto value = ToFloat(self)) return Value::Float(*value, IsTrustedScalar(self));
  return args[0] != nullptr ? *args[0] : Value::Float(0.0, true);
}

Value Round(Runtime&, const Value& self, const Arguments& args) {
  const std::string_view method = args[1] != nullptr ? args.Text(1).view() : "common";
  if (method != "common" && method != "ceil" && method != "floor") Raise("method must be common, ceil or floor");
  RaiseIfUndefined(self);
  const auto number = AsNumber(self);
  if (!number) Raise("type {} cannot be rounded", self.TypeName());
  const int64_t precision = args.Int(0, 0);
  if (method == "common") {
    if (!number->is_float) return Value::Int(RoundInt(number->i, precision), number->trusted);
    return Value::Float(RoundFloat(number->f, precision), number->trusted);
  }
  if (precision > 300 || precision < -300) Raise("the precision {} is out of range", precision);
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = number->f * scale;
  if (!std::isfinite(scaled)) Raise("cannot round a number that is not finite");
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale, number->trusted);
}

Value FileSizeFormat(Runtime& rt, const Value& self, const Arguments& args) {
  static constexpr std::array<char, 8> kPrefixes = {'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'};
  const bool binary = args.Bool(rt, 0, false);
  const auto value = ToFloat(self);
  if (!value || !std::isfinite(*value)) Raise("filesizeformat() needs a finite number");
  const bool trusted = IsTrustedScalar(self);
  const double base = binary ? 1024 : 1000;
  if (*value == 1) return MakeStr(rt, "1 Byte", trusted);
  if (*value < base) return MakeStr(rt, fmt::format("{} Bytes", FloatToInt(*value)), trusted);
  double unit = base;
  size_t prefix = 0;
  do {
    unit *= base;
  } while (*value >= unit && ++prefix < kPrefixes.size() - 1);
  if (*value >= unit) unit = std::pow(base, static_cast<double>(kPrefixes.size() + 1));
  const char letter = binary && kPrefixes[prefix] == 'k' ? 'K' : kPrefixes[prefix];
  return MakeStr(rt, fmt::format("{:.1f} {}{}B", base * *value / unit, letter, binary ? "i" : ""), trusted);
}

constexpr Builtin kNumberFilters[] = {
    {"abs", {}, 0, &Abs},
    {"int", {"default", "base"}, 0, &Int},
    {"float", {"default"}, 0, &Float},
    {"round", {"precision", "method"}, 0, &Round},
    {"filesizeformat", {"binary"}, 0, &FileSizeFormat},
};

}  // namespace

std::span<const Builtin> NumberFilters() { return kNumberFilters; }

}  // namespace inferflux::text::jinja
