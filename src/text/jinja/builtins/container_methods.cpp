#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/evaluate/access.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/objects.h"

namespace inferflux::text::jinja {
namespace {

Value Count(Runtime& rt, const Value& self, const Arguments& args) {
  int64_t count = 0;
  for (const Value& item : self.AsSequence()->items) count += IsEqual(rt.meter(), item, args.At(0)) ? 1 : 0;
  return Value::Int(count);
}

Value Index(Runtime& rt, const Value& self, const Arguments& args) {
  const auto bound = [&](size_t i) { return args[i] != nullptr ? std::optional(ToInt(*args[i])) : std::nullopt; };
  const auto& items = self.AsSequence()->items;
  const auto window = ResolveSlice(bound(1), bound(2), 1, items.size());
  for (size_t i = 0; i < window.count; ++i) {
    const size_t at = static_cast<size_t>(window.start) + i;
    if (IsEqual(rt.meter(), items[at], args.At(0))) return Value::Int(static_cast<int64_t>(at));
  }
  Raise("the value is not in the {}", self.TypeName());
}

// Lists and dicts never change here, so a copy may be the object itself; only `is sameas` could tell.
Value Copy(Runtime&, const Value& self, const Arguments&) { return self; }

Value Get(Runtime&, const Value& self, const Arguments& args) {
  const Value* item = self.AsDict()->Find(args.At(0));
  if (item != nullptr) return *item;
  return args[1] != nullptr ? *args[1] : Value();
}

template <DictView::Part part>
Value View(Runtime& rt, const Value& self, const Arguments&) {
  return Value::ObjectPtr(MakeObject<DictView>(rt, part, self));
}

constexpr Builtin kSequenceMethods[] = {
    {"count", {"value"}, 1, &Count},
    {"index", {"value", "start", "stop"}, 1, &Index},
};
constexpr Builtin kListMethods[] = {
    {"copy", {}, 0, &Copy},
};
constexpr Builtin kDictMethods[] = {
    {"get", {"key", "default"}, 1, &Get},
    {"keys", {}, 0, &View<DictView::Part::kKeys>},
    {"values", {}, 0, &View<DictView::Part::kValues>},
    {"items", {}, 0, &View<DictView::Part::kItems>},
    {"copy", {}, 0, &Copy},
};

}  // namespace

std::span<const Builtin> SequenceMethods() { return kSequenceMethods; }
std::span<const Builtin> ListMethods() { return kListMethods; }
std::span<const Builtin> DictMethods() { return kDictMethods; }

}  // namespace inferflux::text::jinja
