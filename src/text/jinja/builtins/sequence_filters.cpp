#include <algorithm>
#include <numeric>

#include "text/jinja/builtins/attribute_getter.h"
#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/builtins/strings.h"
#include "text/jinja/evaluate/access.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/iterate.h"

namespace inferflux::text::jinja {
namespace {

Value Default(Runtime& rt, const Value& self, const Arguments& args) {
  if (!self.IsUndefined() && !(args.Bool(rt, 1, false) && !IsTrue(rt, self))) return self;
  return args[0] != nullptr ? *args[0] : MakeStr(rt, "", true);
}

Value AttrFilter(Runtime& rt, const Value& self, const Arguments& args) {
  return GetOwnAttribute(rt, self, args.Text(0).view());
}

Value LengthFilter(Runtime& rt, const Value& self, const Arguments&) {
  const auto length = Length(rt, self);
  if (!length) Raise("object of type '{}' has no len()", self.TypeName());
  return Value::Int(static_cast<int64_t>(*length));
}

Value First(Runtime& rt, const Value& self, const Arguments&) {
  auto item = Iterate(rt, self)->Next(rt);
  return item ? *item : MakeUndefined(rt, "no first item, the sequence was empty");
}

Value Last(Runtime& rt, const Value& self, const Arguments&) {
  if (self.IsUndefined()) return MakeUndefined(rt, "no last item, the sequence was empty");
  const auto iterator = IterateReversed(rt, self);
  if (iterator == nullptr) Raise("'{}' object is not reversible", self.TypeName());
  auto item = iterator->Next(rt);
  return item ? *item : MakeUndefined(rt, "no last item, the sequence was empty");
}

Value ListFilter(Runtime& rt, const Value& self, const Arguments&) { return MakeList(rt, Collect(rt, self)); }

Value Reverse(Runtime& rt, const Value& self, const Arguments&) {
  if (self.IsStr()) {
    Str plain = *self.AsStr();
    return GetSlice(rt, plain, Value(), Value(), Value::Int(-1));
  }
  if (self.IsUndefined()) return MakeGenerator(rt, 0, IterateItems({}));
  if (auto iterator = IterateReversed(rt, self)) return MakeGenerator(rt, self.Depth(), std::move(iterator));
  std::vector<Value> items = Collect(rt, self);
  std::reverse(items.begin(), items.end());
  return MakeList(rt, std::move(items));
}

Value JoinFilter(Runtime& rt, const Value& self, const Arguments& args) {
  const AttributeGetter getter(rt, args[1]);
  const Str separator = args[0] != nullptr ? ToStr(rt, *args[0]) : *MakeStr(rt, "", true).AsStr();
  TextBuilder out(rt);
  bool first = true;
  const auto iterator = Iterate(rt, self);
  while (auto item = iterator->Next(rt)) {
    if (!first) out.Append(separator.text());
    first = false;
    AppendStr(rt, out, getter.Get(rt, *item));
  }
  return MakeStr(rt, out);
}

Value Items(Runtime& rt, const Value& self, const Arguments&) {
  const DictData* dict = self.AsDict();
  if (dict == nullptr && !self.IsUndefined()) Raise("can only get item pairs from a mapping");
  return MakeGenerator(rt, self.Depth() + 1, [self, next = size_t{0}](Runtime& rt) mutable -> std::optional<Value> {
    const DictData* entries = self.AsDict();
    if (entries == nullptr || next == entries->entries.size()) return std::nullopt;
    rt.meter().Step();
    const auto& [key, value] = entries->entries[next++];
    return MakeTuple(rt, {key, value});
  });
}

Value Batch(Runtime& rt, const Value& self, const Arguments& args) {
  const int64_t size = args.Int(0, 0);
  const Value fill = args[1] != nullptr ? *args[1] : Value();
  const std::shared_ptr<Iterator> source = Iterate(rt, self);
  const int depth = std::max(self.Depth(), fill.Depth());
  return MakeGenerator(
      rt, depth, [=, pending = std::optional<Value>(), started = false](Runtime& rt) mutable -> std::optional<Value> {
        std::vector<Value> row;
        if (!started) pending = source->Next(rt);
        if (!started && pending && size == 0) {
          started = true;
          return MakeList(rt, {});  // as in Jinja2: the first row is complete before its first item
        }
        started = true;
        while (pending) {
          row.push_back(std::move(*pending));
          pending = source->Next(rt);
          if (static_cast<int64_t>(row.size()) == size) break;
        }
        if (row.empty()) return std::nullopt;
        if (!fill.IsNone() && static_cast<int64_t>(row.size()) < size) {
          rt.meter().CheckRoom(static_cast<uint64_t>(size) * sizeof(Value));
          rt.meter().Step(static_cast<uint64_t>(size));
          row.resize(static_cast<size_t>(size), fill);
        }
        return MakeList(rt, std::move(row));
      });
}

Value SliceFilter(Runtime& rt, const Value& self, const Arguments& args) {
  const int64_t slices = args.Int(0, 0);
  const Value fill = args[1] != nullptr ? *args[1] : Value();
  const auto items = std::make_shared<const std::vector<Value>>(Collect(rt, self));
  if (slices == 0) Raise("integer division or modulo by zero");
  const int depth = std::max(self.Depth(), fill.Depth());
  return MakeGenerator(rt, depth,
                       [=, number = int64_t{0}, begin = size_t{0}](Runtime& rt) mutable -> std::optional<Value> {
                         if (number >= slices) return std::nullopt;
                         rt.meter().Step();
                         const auto length = static_cast<int64_t>(items->size());
                         const bool has_extra = number < length % slices;
                         const size_t end = begin + static_cast<size_t>(length / slices) + (has_extra ? 1 : 0);
                         std::vector<Value> row(items->begin() + static_cast<ptrdiff_t>(begin),
                                                items->begin() + static_cast<ptrdiff_t>(end));
                         if (!fill.IsNone() && !has_extra) row.push_back(fill);
                         begin = end;
                         ++number;
                         return MakeList(rt, std::move(row));
                       });
}

// Items in the order of their keys; equal ones keep their order, even when reversed.
std::vector<Value> SortBy(Runtime& rt, std::vector<Value> items, const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reverse ? IsLess(rt, keys[b], keys[a]) : IsLess(rt, keys[a], keys[b]);
  });
  std::vector<Value> out;
  out.reserve(items.size());
  for (const size_t at : order) out.push_back(std::move(items[at]));
  return out;
}

Value Sort(Runtime& rt, const Value& self, const Arguments& args) {
  const bool case_sensitive = args.Bool(rt, 1, false);
  const auto getters = MakeGetters(rt, args[2]);
  std::vector<Value> items = Collect(rt, self);
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const auto& getter : getters) key.push_back(FoldCase(rt, getter.Get(rt, item), case_sensitive));
    keys.push_back(MakeList(rt, std::move(key)));
  }
  return MakeList(rt, SortBy(rt, std::move(items), keys, args.Bool(rt, 0, false)));
}

Value DictSort(Runtime& rt, const Value& self, const Arguments& args) {
  const std::string_view by = args[1] != nullptr ? args.Text(1).view() : "key";
  if (by != "key" && by != "value") Raise("you can only sort by either \"key\" or \"value\"");
  RaiseIfUndefined(self);
  const DictData* dict = self.AsDict();
  if (dict == nullptr) Raise("dictsort() needs a mapping, not {}", self.TypeName());
  const bool case_sensitive = args.Bool(rt, 0, false);
  std::vector<Value> items;
  std::vector<Value> keys;
  for (const auto& [key, value] : dict->entries) {
    items.push_back(MakeTuple(rt, {key, value}));
    keys.push_back(FoldCase(rt, by == "key" ? key : value, case_sensitive));
  }
  return MakeList(rt, SortBy(rt, std::move(items), keys, args.Bool(rt, 2, false)));
}

Value Unique(Runtime& rt, const Value& self, const Arguments& args) {
  const bool case_sensitive = args.Bool(rt, 0, false);
  const AttributeGetter getter(rt, args[1]);
  const std::shared_ptr<Iterator> source = Iterate(rt, self);
  return MakeGenerator(rt, self.Depth(), [=, seen = NewDict(rt)](Runtime& rt) -> std::optional<Value> {
    while (auto item = source->Next(rt)) {
      const Value key = FoldCase(rt, getter.Get(rt, *item), case_sensitive);
      if (seen->Find(key) != nullptr) continue;
      seen->Set(key, Value());
      return item;
    }
    return std::nullopt;
  });
}

template <bool want_max>
Value Extreme(Runtime& rt, const Value& self, const Arguments& args) {
  const bool case_sensitive = args.Bool(rt, 0, false);
  const AttributeGetter getter(rt, args[1]);
  const auto iterator = Iterate(rt, self);
  auto best = iterator->Next(rt);
  if (!best) return MakeUndefined(rt, "no aggregated item, the sequence was empty");
  Value best_key = FoldCase(rt, getter.Get(rt, *best), case_sensitive);
  while (auto item = iterator->Next(rt)) {
    Value key = FoldCase(rt, getter.Get(rt, *item), case_sensitive);
    if (want_max ? !IsLess(rt, best_key, key) : !IsLess(rt, key, best_key)) continue;
    best = std::move(item);
    best_key = std::move(key);
  }
  return *best;
}

Value Sum(Runtime& rt, const Value& self, const Arguments& args) {
  const AttributeGetter getter(rt, args[0]);
  Value total = args[1] != nullptr ? *args[1] : Value::Int(0, true);
  if (total.IsStr()) Raise("sum() can't sum strings");
  const auto iterator = Iterate(rt, self);
  while (auto item = iterator->Next(rt)) total = Binary(rt, BinaryOp::kAdd, total, getter.Get(rt, *item));
  return total;
}

Value GroupBy(Runtime& rt, const Value& self, const Arguments& args) {
  const AttributeGetter getter(rt, args[0], args[1]);
  const bool case_sensitive = args.Bool(rt, 2, false);
  std::vector<Value> items = Collect(rt, self);
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(FoldCase(rt, getter.Get(rt, item), case_sensitive));
  items = SortBy(rt, std::move(items), keys, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    const Value key = FoldCase(rt, getter.Get(rt, items[begin]), case_sensitive);
    size_t end = begin + 1;
    while (end < items.size() && IsEqual(rt.meter(), key, FoldCase(rt, getter.Get(rt, items[end]), case_sensitive))) {
      ++end;
    }
    std::vector<Value> members(items.begin() + static_cast<ptrdiff_t>(begin),
                               items.begin() + static_cast<ptrdiff_t>(end));
    const Value grouper = getter.Get(rt, items[begin]);
    groups.push_back(MakeList(rt, {grouper, MakeList(rt, std::move(members))}, SequenceType::kGroup));
    begin = end;
  }
  return MakeList(rt, std::move(groups));
}

constexpr Builtin kSequenceFilters[] = {
    {"default", {"default_value", "boolean"}, 0, &Default},
    {"d", {"default_value", "boolean"}, 0, &Default},
    {"attr", {"name"}, 1, &AttrFilter},
    {"length", {}, 0, &LengthFilter},
    {"count", {}, 0, &LengthFilter},
    {"first", {}, 0, &First},
    {"last", {}, 0, &Last},
    {"list", {}, 0, &ListFilter},
    {"reverse", {}, 0, &Reverse},
    {"join", {"d", "attribute"}, 0, &JoinFilter},
    {"items", {}, 0, &Items},
    {"batch", {"linecount", "fill_with"}, 1, &Batch},
    {"slice", {"slices", "fill_with"}, 1, &SliceFilter},
    {"sort", {"reverse", "case_sensitive", "attribute"}, 0, &Sort},
    {"dictsort", {"case_sensitive", "by", "reverse"}, 0, &DictSort},
    {"unique", {"case_sensitive", "attribute"}, 0, &Unique},
    {"min", {"case_sensitive", "attribute"}, 0, &Extreme<false>},
    {"max", {"case_sensitive", "attribute"}, 0, &Extreme<true>},
    {"sum", {"attribute", "start"}, 0, &Sum},
    {"groupby", {"attribute", "default", "case_sensitive"}, 1, &GroupBy},
};

}  // namespace

std::span<const Builtin> SequenceFilters() { return kSequenceFilters; }

}  // namespace inferflux::text::jinja
