#include "text/jinja/evaluate/operators.h"

#include <functional>

#include "text/jinja/evaluate/arithmetic.h"
#include "text/jinja/format/html.h"
#include "text/jinja/format/percent_format.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/objects.h"
#include "text/jinja/value/text_search.h"

namespace inferflux::text::jinja {
namespace {

[[noreturn]] void RaiseUnsupported(BinaryOp op, const Value& a, const Value& b) {
  Raise("unsupported operand types for {}: '{}' and '{}'", Symbol(op), a.TypeName(), b.TypeName());
}

Value Repeat(Runtime& rt, const Value& of, const Number& count) {
  if (const Str* str = of.AsStr()) {
    TextBuilder out(rt);
    if (str->text().runs().size() == 1) {
      out.Repeat(str->view(), count.i, str->text().AllTrusted());
    } else if (!str->view().empty()) {
      for (int64_t i = 0; i < count.i; ++i) out.Append(str->text());
    }
    return MakeStr(rt, out, str->markup);
  }
  const ListData& list = *of.AsSequence();
  std::vector<Value> items;
  for (int64_t i = 0; i < count.i && !list.items.empty(); ++i) {
    rt.meter().Step(list.items.size());
    rt.meter().CheckRoom((items.size() + list.items.size()) * sizeof(Value));
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return MakeList(rt, std::move(items), list.type == SequenceType::kList ? SequenceType::kList : SequenceType::kTuple);
}

Value AddStrings(Runtime& rt, const Str& a, const Str& b) {
  TextBuilder out(rt);
  const bool markup = a.markup || b.markup;
  for (const Str* part : {&a, &b}) {
    if (markup && !part->markup) {
      AppendEscaped(out, part->text());
    } else {
      out.Append(part->text());
    }
  }
  return MakeStr(rt, out, markup);
}

Value AddSequences(Runtime& rt, const ListData& a, const ListData& b) {
  std::vector<Value> items;
  rt.meter().Step(a.items.size() + b.items.size());
  rt.meter().CheckRoom((a.items.size() + b.items.size()) * sizeof(Value));
  items.reserve(a.items.size() + b.items.size());
  items.insert(items.end(), a.items.begin(), a.items.end());
  items.insert(items.end(), b.items.begin(), b.items.end());
  return MakeList(rt, std::move(items), a.type == SequenceType::kList ? SequenceType::kList : SequenceType::kTuple);
}

bool IsSequenceLess(Runtime& rt, const ListData& a, const ListData& b) {
  for (size_t i = 0; i < a.items.size() && i < b.items.size(); ++i) {
    if (!IsEqual(rt.meter(), a.items[i], b.items[i])) return IsLess(rt, a.items[i], b.items[i]);
  }
  return a.items.size() < b.items.size();
}

bool IsListLike(const ListData& list) { return list.type == SequenceType::kList; }

bool AreDictsEqual(Meter& meter, const DictData& a, const DictData& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.Find(key);
    if (other == nullptr || !IsEqual(meter, value, *other)) return false;
  }
  return true;
}

}  // namespace

std::string_view Symbol(BinaryOp op) {
  static constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSymbols[static_cast<size_t>(op)];
}

std::string_view Symbol(CompareOp op) {
  static constexpr std::string_view kSymbols[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kSymbols[static_cast<size_t>(op)];
}

void RaiseIfUndefined(const Value& value) {
  if (const UndefinedData* undefined = value.AsUndefined()) Raise("{}", undefined->message);
}

std::optional<Number> AsNumber(const Value& value) {
  if (const auto* b = value.AsBool()) return Number{false, b->value, b->value ? 1.0 : 0.0, b->trusted};
  if (const auto* i = value.AsInt()) return Number{false, i->value, static_cast<double>(i->value), i->trusted};
  if (const auto* f = value.AsFloat()) return Number{true, 0, f->value, f->trusted};
  return std::nullopt;
}

bool IsTrue(Runtime& rt, const Value& value) {
  if (const auto number = AsNumber(value)) return number->is_float ? number->f != 0 : number->i != 0;
  if (const Str* str = value.AsStr()) return !str->view().empty();
  if (const ListData* list = value.AsSequence()) return !list->items.empty();
  if (const DictData* dict = value.AsDict()) return !dict->entries.empty();
  if (Object* object = value.AsObject()) return object->Length(rt).value_or(1) != 0;
  return false;  // None and Undefined
}

size_t HashText(std::string_view text) { return std::hash<std::string_view>()(text); }

size_t Hash(Meter& meter, const Value& value) {
  meter.Step();
  if (const Str* str = value.AsStr()) {
    meter.Step(str->view().size() / 32);
    return HashText(str->view());
  }
  if (const auto number = AsNumber(value)) return std::hash<double>()(number->f);
  if (const ListData* tuple = value.AsTuple()) {
    size_t hash = 0x345678;
    for (const Value& item : tuple->items) hash = hash * 1000003 ^ Hash(meter, item);
    return hash;
  }
  if (const Object* object = value.AsObject()) return std::hash<const void*>()(object);
  if (value.IsNone() || value.IsUndefined()) return 1;
  Raise("unhashable type: '{}'", value.TypeName());
}

bool IsEqual(Meter& meter, const Value& a, const Value& b) {
  meter.Step();
  if (const Str* x = a.AsStr()) {
    const Str* y = b.AsStr();
    if (y == nullptr || x->view().size() != y->view().size()) return false;
    meter.Step(x->view().size() / 32);
    return x->view() == y->view();
  }
  if (const auto x = AsNumber(a)) {
    const auto y = AsNumber(b);
    return y.has_value() && CompareNumbers(*x, *y) == 0;
  }
  if (a.IsUndefined() || a.IsNone()) return a.data().index() == b.data().index();
  if (a.IsSame(b)) return true;
  if (const ListData* x = a.AsSequence()) {
    const ListData* y = b.AsSequence();
    if (y == nullptr || IsListLike(*x) != IsListLike(*y) || x->items.size() != y->items.size()) return false;
    for (size_t i = 0; i < x->items.size(); ++i) {
      if (!IsEqual(meter, x->items[i], y->items[i])) return false;
    }
    return true;
  }
  if (const DictData* x = a.AsDict()) {
    const DictData* y = b.AsDict();
    return y != nullptr && AreDictsEqual(meter, *x, *y);
  }
  const RangeObject* x = a.As<RangeObject>();
  const RangeObject* y = b.As<RangeObject>();
  return x != nullptr && y != nullptr && x->Equals(*y);
}

bool IsLess(Runtime& rt, const Value& a, const Value& b) {
  rt.meter().Step();
  RaiseIfUndefined(a);
  RaiseIfUndefined(b);
  if (const auto x = AsNumber(a)) {
    if (const auto y = AsNumber(b)) return CompareNumbers(*x, *y) == -1;
  }
  if (a.IsStr() && b.IsStr()) {
    rt.meter().Step(a.AsStr()->view().size() / 32);
    return a.AsStr()->view() < b.AsStr()->view();  // the order of UTF-8 is the order of code points
  }
  const ListData* x = a.AsSequence();
  const ListData* y = b.AsSequence();
  if (x != nullptr && y != nullptr && IsListLike(*x) == IsListLike(*y)) return IsSequenceLess(rt, *x, *y);
  Raise("'<' not supported between instances of '{}' and '{}'", a.TypeName(), b.TypeName());
}

bool Compare(Runtime& rt, CompareOp op, const Value& a, const Value& b) {
  const auto less_or_equal = [&](const Value& left, const Value& right) {
    // Not "not greater": NaN is neither.
    return IsLess(rt, left, right) || IsEqual(rt.meter(), left, right);
  };
  switch (op) {
    case CompareOp::kEq:
      return IsEqual(rt.meter(), a, b);
    case CompareOp::kNe:
      return !IsEqual(rt.meter(), a, b);
    case CompareOp::kLt:
      return IsLess(rt, a, b);
    case CompareOp::kLe:
      return less_or_equal(a, b);
    case CompareOp::kGt:
      return IsLess(rt, b, a);
    case CompareOp::kGe:
      return less_or_equal(b, a);
    case CompareOp::kIn:
      return Contains(rt, b, a);
    case CompareOp::kNotIn:
      return !Contains(rt, b, a);
  }
  return false;
}

bool Contains(Runtime& rt, const Value& container, const Value& item) {
  if (const Str* str = container.AsStr()) {
    const Str* needle = item.AsStr();
    if (needle == nullptr) Raise("'in <string>' requires string as left operand, not {}", item.TypeName());
    rt.meter().Step(str->view().size() / 32);
    return FindText(str->view(), needle->view()) != std::string_view::npos;
  }
  if (const DictData* dict = container.AsDict()) return dict->Find(item) != nullptr;
  const auto iterator = Iterate(rt, container);
  while (const auto each = iterator->Next(rt)) {
    if (each->IsSame(item) || IsEqual(rt.meter(), *each, item)) return true;
  }
  return false;
}

Value Binary(Runtime& rt, BinaryOp op, const Value& a, const Value& b) {
  // A str formats an undefined value instead of failing.
  if (op == BinaryOp::kMod && a.IsStr()) return FormatPercent(rt, *a.AsStr(), b);
  RaiseIfUndefined(a);
  RaiseIfUndefined(b);
  const auto x = AsNumber(a);
  const auto y = AsNumber(b);
  if (x && y) return Arithmetic(op, *x, *y);
  if (op == BinaryOp::kAdd) {
    if (a.IsStr() && b.IsStr()) return AddStrings(rt, *a.AsStr(), *b.AsStr());
    if (a.AsList() != nullptr && b.AsList() != nullptr) return AddSequences(rt, *a.AsList(), *b.AsList());
    if (a.AsTuple() != nullptr && b.AsTuple() != nullptr) return AddSequences(rt, *a.AsTuple(), *b.AsTuple());
    if (a.IsStr()) Raise("can only concatenate str (not \"{}\") to str", b.TypeName());
  }
  if (op == BinaryOp::kMul) {
    const auto repeatable = [](const Value& v) { return v.IsStr() || v.AsSequence() != nullptr; };
    if (repeatable(a) && y && !y->is_float) return Repeat(rt, a, *y);
    if (repeatable(b) && x && !x->is_float) return Repeat(rt, b, *x);
  }
  RaiseUnsupported(op, a, b);
}

Value Negate(Runtime&, const Value& value) {
  RaiseIfUndefined(value);
  const auto x = AsNumber(value);
  if (!x) Raise("bad operand type for unary -: '{}'", value.TypeName());
  if (x->is_float) return Value::Float(-x->f, x->trusted);
  return Arithmetic(BinaryOp::kSub, Number{false, 0, 0.0, true}, *x);
}

Value Plus(Runtime&, const Value& value) {
  RaiseIfUndefined(value);
  const auto x = AsNumber(value);
  if (!x) Raise("bad operand type for unary +: '{}'", value.TypeName());
  return x->is_float ? Value::Float(x->f, x->trusted) : Value::Int(x->i, x->trusted);
}

Value Concat(Runtime& rt, const std::vector<Value>& parts) {
  TextBuilder out(rt);
  for (const Value& part : parts) AppendStr(rt, out, part);
  return MakeStr(rt, out);
}

}  // namespace inferflux::text::jinja
