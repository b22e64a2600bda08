#include "text/jinja/value/objects.h"

#include "text/jinja/builtins/builtin.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/iterate.h"

namespace inferflux::text::jinja {
namespace {

uint64_t RangeLength(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  return (distance - 1) / stride + 1;
}

Value CyclerNext(Runtime&, const Value& self, const Arguments&) { return self.As<Cycler>()->Next(); }

Value CyclerReset(Runtime&, const Value& self, const Arguments&) {
  self.As<Cycler>()->Reset();
  return Value();
}

constexpr Builtin kCyclerNext{"next", {}, 0, &CyclerNext};
constexpr Builtin kCyclerReset{"reset", {}, 0, &CyclerReset};

}  // namespace

void Object::Repr(Runtime&, TextBuilder& out) const { out.Made(fmt::format("<{} object>", TypeName())); }
std::optional<Value> Object::GetAttr(Runtime&, std::string_view) { return std::nullopt; }
std::optional<Value> Object::GetItem(Runtime&, const Value&) { return std::nullopt; }
std::optional<size_t> Object::Length(Runtime&) { return std::nullopt; }
std::unique_ptr<Iterator> Object::Iterate(Runtime&) { return nullptr; }
std::unique_ptr<Iterator> Object::IterateReversed(Runtime&) { return nullptr; }
Value Object::Call(Runtime&, CallArgs) { Raise("'{}' object is not callable", TypeName()); }

RangeObject::RangeObject(int64_t start, int64_t stop, int64_t step, bool trusted)
    : start_(start), stop_(stop), step_(step), trusted_(trusted), length_(RangeLength(start, stop, step)) {}

Value RangeObject::At(uint64_t index) const {
  // Inside the range nothing overflows; unsigned arithmetic keeps the intermediate product defined.
  const uint64_t offset = index * static_cast<uint64_t>(step_);
  return Value::Int(static_cast<int64_t>(static_cast<uint64_t>(start_) + offset), trusted_);
}

Value RangeObject::Slice(Runtime& rt, int64_t start, int64_t stop, int64_t step) const {
  int64_t stride = 0;
  int64_t bounds[2] = {start, stop};
  bool overflows = __builtin_mul_overflow(step_, step, &stride);
  for (int64_t& bound : bounds) {
    overflows |= __builtin_mul_overflow(bound, step_, &bound) || __builtin_add_overflow(bound, start_, &bound);
  }
  if (overflows) Raise("a slice of {} does not fit 64-bit integers", TypeName());
  return Value::ObjectPtr(MakeObject<RangeObject>(rt, bounds[0], bounds[1], stride, trusted_));
}

void RangeObject::Repr(Runtime&, TextBuilder& out) const {
  out.Append(
      step_ == 1 ? fmt::format("range({}, {})", start_, stop_) : fmt::format("range({}, {}, {})", start_, stop_, step_),
      trusted_);
}

std::optional<Value> RangeObject::GetAttr(Runtime&, std::string_view name) {
  if (name == "start") return Value::Int(start_, trusted_);
  if (name == "stop") return Value::Int(stop_, trusted_);
  if (name == "step") return Value::Int(step_, trusted_);
  return std::nullopt;
}

std::optional<Value> RangeObject::GetItem(Runtime&, const Value& key) {
  const auto index = AsNumber(key);
  if (!index || index->is_float) return std::nullopt;
  const int64_t at = index->i < 0 ? index->i + static_cast<int64_t>(length_) : index->i;
  if (at < 0 || static_cast<uint64_t>(at) >= length_) return std::nullopt;
  return At(static_cast<uint64_t>(at));
}

std::unique_ptr<Iterator> RangeObject::Iterate(Runtime&) {
  return std::make_unique<FunctionIterator>([self = shared_from_this(), this, next = uint64_t{0}](Runtime& rt) mutable {
    rt.meter().Step();
    return next < length_ ? std::optional(At(next++)) : std::nullopt;
  });
}

std::unique_ptr<Iterator> RangeObject::IterateReversed(Runtime&) {
  return std::make_unique<FunctionIterator>([self = shared_from_this(), this, left = length_](Runtime& rt) mutable {
    rt.meter().Step();
    return left > 0 ? std::optional(At(--left)) : std::nullopt;
  });
}

bool RangeObject::Equals(const RangeObject& other) const {
  if (length_ != other.length_) return false;
  if (length_ == 0) return true;
  return start_ == other.start_ && (length_ == 1 || step_ == other.step_);
}

void Namespace::Repr(Runtime& rt, TextBuilder& out) const {
  out.Made("<Namespace ");
  AppendRepr(rt, out, Value::DictPtr(attributes_));
  out.Made(">");
}

std::optional<Value> Namespace::GetAttr(Runtime&, std::string_view name) {
  const Value* value = attributes_->Find(name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::string_view DictView::TypeName() const {
  static constexpr std::string_view kNames[] = {"dict_keys", "dict_values", "dict_items"};
  return kNames[static_cast<size_t>(part_)];
}

void DictView::Repr(Runtime& rt, TextBuilder& out) const {
  out.Made(TypeName());
  out.Made("([");
  bool first = true;
  for (const auto& [key, value] : dict_.AsDict()->entries) {
    if (!first) out.Made(", ");
    first = false;
    if (part_ == Part::kItems) out.Made("(");
    if (part_ != Part::kValues) AppendRepr(rt, out, key);
    if (part_ == Part::kItems) out.Made(", ");
    if (part_ != Part::kKeys) AppendRepr(rt, out, value);
    if (part_ == Part::kItems) out.Made(")");
  }
  out.Made("])");
}

std::unique_ptr<Iterator> DictView::MakeIterator(Runtime&, bool reversed) {
  return std::make_unique<FunctionIterator>(
      [dict = dict_, part = part_, reversed, next = size_t{0}](Runtime& rt) mutable -> std::optional<Value> {
        const auto& entries = dict.AsDict()->entries;
        if (next == entries.size()) return std::nullopt;
        rt.meter().Step();
        const size_t place = next++;
        const auto& [key, value] = entries[reversed ? entries.size() - 1 - place : place];
        if (part == Part::kKeys) return key;
        if (part == Part::kValues) return value;
        return MakeTuple(rt, {key, value});
      });
}

Value Cycler::Next() {
  const auto& items = items_.AsSequence()->items;
  const Value& current = items[at_];
  at_ = (at_ + 1) % items.size();
  return current;
}

std::optional<Value> Cycler::GetAttr(Runtime& rt, std::string_view name) {
  if (name == "current") return items_.AsSequence()->items[at_];
  if (name == "next") return BindMethod(rt, Value::ObjectPtr(shared_from_this()), kCyclerNext);
  if (name == "reset") return BindMethod(rt, Value::ObjectPtr(shared_from_this()), kCyclerReset);
  return std::nullopt;
}

Value Joiner::Call(Runtime& rt, CallArgs) {
  if (used_) return separator_;
  used_ = true;
  return MakeStr(rt, "", true);
}

}  // namespace inferflux::text::jinja
