// Numbers: bounds, multiples, and what `not` excludes of them.
#include <algorithm>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/types/decimal.h"

namespace inferflux::text {
namespace {

constexpr int64_t kMaxDivisor = 1000;
constexpr int64_t kManyStates = 200;
constexpr uint32_t kMaxPlaces = 6;
constexpr double kMostDouble = 9'999'999'999'999'999.0;
constexpr double kMostWhole = 1e18;  // of bounds that are integers
constexpr int64_t kMaxWhole = 999'999'999'999'999'999;

// Counting the digits of its multiples would need too many states.
bool ManyStates(const boost::json::value& divisor) {
  const auto of = ExactDecimal(divisor);
  return of && of->digits * (of->places + 2) > kManyStates;
}

// What floats hold exactly: 15 digits. With more, 0.9999999999999999999 would be read as 1, which is an integer.
Expr ShortDecimal() {
  const auto digits = [](uint32_t min, uint32_t max) { return Repeat(OneOf({{'0', '9'}}), min, max); };
  return Sequence({Optional(Literal("-")), digits(1, 9), Optional(Sequence({Literal("."), digits(1, 6)}))});
}

// An integer with any number of digits.
Expr AnyInteger() {
  return Sequence(
      {Optional(Literal("-")),
       Choice({Literal("0"), Sequence({OneOf({{'1', '9'}}), Repeat(OneOf({{'0', '9'}}), 0, kUnbounded)})})});
}

}  // namespace

// The stricter one of minimum and exclusiveMinimum (draft 4: a boolean beside minimum), or of the maximum pair.
Result<std::optional<NumberBound>> SchemaCompiler::BoundOf(const Object& schema, bool low, const Place& at) const {
  const std::string_view inclusive = low ? "minimum" : "maximum";
  const std::string_view exclusive = low ? "exclusiveMinimum" : "exclusiveMaximum";
  const Value* bound = schema.if_contains(inclusive);
  const Value* strict = schema.if_contains(exclusive);
  bool is_strict = false;
  if (strict != nullptr && strict->is_bool()) {
    is_strict = strict->get_bool();
  } else if (strict != nullptr) {
    if (!strict->is_number()) return Wrong(at.At(exclusive), "must be a number");
    if (bound == nullptr || !bound->is_number() ||
        (low ? strict->to_number<double>() >= bound->to_number<double>()
             : strict->to_number<double>() <= bound->to_number<double>())) {
      bound = strict;
      is_strict = true;
    }
  }
  if (bound == nullptr) return std::optional<NumberBound>();
  if (!bound->is_number()) return Wrong(at.At(inclusive), "must be a number");
  // Numbers between bounds have at most 16 digits before the point: a bound beyond these becomes the last of them.
  const double size = bound->to_number<double>(), most = bound->is_double() ? kMostDouble : kMostWhole;
  if (low ? size < -most : size > most) {
    return NumberBound{.decimal = low ? "-9999999999999999" : "9999999999999999", .exclusive = false};
  }
  if (bound->is_double()) {
    auto decimal = DecimalOf(bound->get_double());
    if (!decimal) return Wrong(at.At(inclusive), "{}", decimal.error().message);
    return NumberBound{.decimal = std::move(*decimal), .exclusive = is_strict};
  }
  const auto whole = bound->if_int64();
  if (whole == nullptr || *whole > kMaxWhole || *whole < -kMaxWhole) {
    return Wrong(at.At(inclusive), "must have at most 18 digits");
  }
  return NumberBound{.decimal = std::to_string(*whole), .exclusive = is_strict};
}

Result<Expr> SchemaCompiler::Number(const Object& schema, bool whole, const Place& at) {
  const auto low = BoundOf(schema, true, at);
  if (!low) return Forward(low);
  const auto high = BoundOf(schema, false, at);
  if (!high) return Forward(high);
  const Value* multiple = schema.if_contains("multipleOf");
  const Value* never = schema.if_contains("not");
  if (multiple == nullptr && never == nullptr) {
    if (!*low && !*high) return whole ? json_.Integer() : json_.Number();
    return whole ? IntegersBetween(*low, *high) : NumbersBetween(*low, *high);
  }
  auto numbers = CharAutomaton::Of(*(whole ? IntegersBetween(*low, *high) : NumbersBetween(*low, *high)));
  if (!*low && !*high && whole && multiple != nullptr && ManyStates(*multiple))
    numbers = CharAutomaton::Of(*AnyInteger());
  if (!whole && numbers) {
    const auto short_ones = CharAutomaton::Of(*ShortDecimal());
    numbers = short_ones ? numbers->And(*short_ones) : short_ones;
  }
  if (multiple != nullptr && numbers) {
    const auto multiples = NumbersUnder(Object{{"multipleOf", *multiple}}, at);
    if (!multiples) return Forward(multiples);
    numbers = numbers->And(*multiples);
  }
  if (never != nullptr && numbers) {
    const auto excluded = NumbersUnder(*never, at.At("not"));
    if (!excluded) return Forward(excluded);
    numbers = numbers->Without(*excluded);
  }
  if (auto charged = Charge(numbers, at); !charged) return Forward(charged);
  if (!numbers) return Wrong(at.At(multiple != nullptr ? "multipleOf" : "not"), "{}", numbers.error().message);
  return numbers->ToExpression();
}

bool SchemaCompiler::IsOfMultiples(const Value& schema) {
  if (!schema.is_object()) return false;
  const auto all = [](const Value& list) {
    return list.is_array() && std::ranges::all_of(list.get_array(), IsOfMultiples);
  };
  return std::ranges::all_of(schema.get_object(), [&](const auto& entry) {
    const std::string_view keyword = entry.key();
    if (keyword == "type") return entry.value() == "integer" || entry.value() == "number";
    if (keyword == "multipleOf") return entry.value().is_number();
    if (keyword == "not") return IsOfMultiples(entry.value());
    return keyword == "anyOf" || keyword == "allOf" ? all(entry.value()) : IsAnnotation(keyword);
  });
}

// The decimal numbers without exponent that such a schema describes, as they may be written: 5, 5.0.
Result<CharAutomaton> SchemaCompiler::NumbersUnder(const Value& schema, const Place& at) const {
  if (!IsOfMultiples(schema)) return Wrong(at, "of a number only multiples and integers can be excluded here");
  if (at.depth > kMaxSchemaDepth) return Wrong(at, "schemas are nested deeper than {}", kMaxSchemaDepth);
  CharAutomaton out = CharAutomaton::Everything();
  const auto narrow = [&](const Result<CharAutomaton>& other, bool with, const Place& where) -> Status {
    if (!other) return Forward(other);
    auto both = with ? out.And(*other) : out.Without(*other);
    if (!both) return Wrong(where, "{}", both.error().message);
    out = std::move(*both);
    return {};
  };
  for (const auto& [keyword, value] : schema.get_object()) {
    const Place place = at.At(keyword);
    Status done;
    if (keyword == "type" && value == "integer") {
      done = narrow(CharAutomaton::OfMultiples(1, 0), true, place);
    } else if (keyword == "multipleOf") {
      const auto of = ExactDecimal(value);
      if (!of || of->digits <= 0 || of->digits > kMaxDivisor || of->places > kMaxPlaces) {
        return Wrong(place, "is supported from 1 to {}, or that divided by a power of ten up to 10^{}", kMaxDivisor,
                     kMaxPlaces);
      }
      done = narrow(CharAutomaton::OfMultiples(static_cast<uint32_t>(of->digits), of->places), true, place);
    } else if (keyword == "not") {
      done = narrow(NumbersUnder(value, place), false, place);
    } else if (keyword == "allOf") {
      for (size_t i = 0; i < value.get_array().size() && done; ++i) {
        done = narrow(NumbersUnder(value.get_array()[i], at.At(keyword, i)), true, place);
      }
    } else if (keyword == "anyOf") {
      Result<CharAutomaton> none = CharAutomaton::Everything();
      for (size_t i = 0; i < value.get_array().size() && none; ++i) {
        const auto other = NumbersUnder(value.get_array()[i], at.At(keyword, i));
        none = other ? none->Without(*other) : other;
      }
      done = narrow(none, false, place);
    }
    if (!done) return Forward(done);
  }
  return out;
}

}  // namespace inferflux::text
