#include "text/jinja/builtins/builtin_tables.h"

#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/iterate.h"

namespace inferflux::text::jinja {
namespace {

// A test of the value alone.
template <bool (*holds)(Runtime&, const Value&)>
Value Is(Runtime& rt, const Value& self, const Arguments&) {
  return Value::Bool(holds(rt, self));
}

template <CompareOp op>
Value IsCompared(Runtime& rt, const Value& self, const Arguments& args) {
  return Value::Bool(Compare(rt, op, self, args.At(0)));
}

bool IsDefined(Runtime&, const Value& v) { return !v.IsUndefined(); }
bool IsUndefinedValue(Runtime&, const Value& v) { return v.IsUndefined(); }
bool IsNoneValue(Runtime&, const Value& v) { return v.IsNone(); }
bool IsBoolean(Runtime&, const Value& v) { return v.AsBool() != nullptr; }
bool IsTrueValue(Runtime&, const Value& v) { return v.AsBool() != nullptr && v.AsBool()->value; }
bool IsFalseValue(Runtime&, const Value& v) { return v.AsBool() != nullptr && !v.AsBool()->value; }
bool IsInteger(Runtime&, const Value& v) { return v.AsInt() != nullptr; }
bool IsFloat(Runtime&, const Value& v) { return v.AsFloat() != nullptr; }
bool IsNumber(Runtime&, const Value& v) { return AsNumber(v).has_value(); }
bool IsString(Runtime&, const Value& v) { return v.IsStr(); }
bool IsMapping(Runtime&, const Value& v) { return v.AsDict() != nullptr; }
bool IsIterableValue(Runtime& rt, const Value& v) { return IsIterable(rt, v); }
bool IsEscaped(Runtime&, const Value& v) { return v.IsStr() && v.AsStr()->markup; }

// Values with a length and items by index or key; in Jinja2 also the undefined.
bool IsSequence(Runtime&, const Value& v) {
  return v.IsStr() || v.AsSequence() != nullptr || v.AsDict() != nullptr || v.IsUndefined() || v.TypeName() == "range";
}

bool IsCallable(Runtime&, const Value& v) {
  return v.IsUndefined() || (v.AsObject() != nullptr && v.AsObject()->IsCallable());
}

Value Remainder(Runtime& rt, const Value& value, const Value& by) { return Binary(rt, BinaryOp::kMod, value, by); }

template <int64_t remainder>
Value IsRemainder(Runtime& rt, const Value& self, const Arguments&) {
  return Value::Bool(IsEqual(rt.meter(), Remainder(rt, self, Value::Int(2)), Value::Int(remainder)));
}

Value IsDivisibleBy(Runtime& rt, const Value& self, const Arguments& args) {
  return Value::Bool(IsEqual(rt.meter(), Remainder(rt, self, args.At(0)), Value::Int(0)));
}

Value IsSameAs(Runtime&, const Value& self, const Arguments& args) { return Value::Bool(self.IsSame(args.At(0))); }

// str(value).islower() or .isupper()
template <bool upper>
Value IsOfCase(Runtime& rt, const Value& self, const Arguments&) {
  const Value text = ToStr(rt, self);
  return CallBuiltin(rt, *FindMethod(text, upper ? "isupper" : "islower"), text, {});
}

template <const Builtin* (*find)(std::string_view)>
Value IsNamed(Runtime& rt, const Value& self, const Arguments&) {
  Hash(rt.meter(), self);  // a list cannot be a key, and Jinja2 looks it up as one
  return Value::Bool(self.IsStr() && find(self.AsStr()->view()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"defined", {}, 0, &Is<&IsDefined>},
    {"undefined", {}, 0, &Is<&IsUndefinedValue>},
    {"none", {}, 0, &Is<&IsNoneValue>},
    {"boolean", {}, 0, &Is<&IsBoolean>},
    {"true", {}, 0, &Is<&IsTrueValue>},
    {"false", {}, 0, &Is<&IsFalseValue>},
    {"integer", {}, 0, &Is<&IsInteger>},
    {"float", {}, 0, &Is<&IsFloat>},
    {"number", {}, 0, &Is<&IsNumber>},
    {"string", {}, 0, &Is<&IsString>},
    {"mapping", {}, 0, &Is<&IsMapping>},
    {"sequence", {}, 0, &Is<&IsSequence>},
    {"iterable", {}, 0, &Is<&IsIterableValue>},
    {"callable", {}, 0, &Is<&IsCallable>},
    {"escaped", {}, 0, &Is<&IsEscaped>},
    {"odd", {}, 0, &IsRemainder<1>},
    {"even", {}, 0, &IsRemainder<0>},
    {"divisibleby", {"num"}, 1, &IsDivisibleBy},
    {"sameas", {"other"}, 1, &IsSameAs},
    {"lower", {}, 0, &IsOfCase<false>},
    {"upper", {}, 0, &IsOfCase<true>},
    {"filter", {}, 0, &IsNamed<&FindFilter>},
    {"test", {}, 0, &IsNamed<&FindTest>},
    {"in", {"seq"}, 1, &IsCompared<CompareOp::kIn>},
    {"==", {"other"}, 1, &IsCompared<CompareOp::kEq>},
    {"eq", {"other"}, 1, &IsCompared<CompareOp::kEq>},
    {"equalto", {"other"}, 1, &IsCompared<CompareOp::kEq>},
    {"!=", {"other"}, 1, &IsCompared<CompareOp::kNe>},
    {"ne", {"other"}, 1, &IsCompared<CompareOp::kNe>},
    {">", {"other"}, 1, &IsCompared<CompareOp::kGt>},
    {"gt", {"other"}, 1, &IsCompared<CompareOp::kGt>},
    {"greaterthan", {"other"}, 1, &IsCompared<CompareOp::kGt>},
    {">=", {"other"}, 1, &IsCompared<CompareOp::kGe>},
    {"ge", {"other"}, 1, &IsCompared<CompareOp::kGe>},
    {"<", {"other"}, 1, &IsCompared<CompareOp::kLt>},
    {"lt", {"other"}, 1, &IsCompared<CompareOp::kLt>},
    {"lessthan", {"other"}, 1, &IsCompared<CompareOp::kLt>},
    {"<=", {"other"}, 1, &IsCompared<CompareOp::kLe>},
    {"le", {"other"}, 1, &IsCompared<CompareOp::kLe>},
};

}  // namespace

std::span<const Builtin> Tests() { return kTests; }

}  // namespace inferflux::text::jinja
