#include "text/jinja/evaluate/access.h"

#include <algorithm>
#include <array>
#include <limits>

#include "text/jinja/builtins/builtin.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/objects.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

constexpr std::array<std::string_view, 5> kDictMutators = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kListMutators = {"append", "clear", "pop",    "reverse",
                                                           "insert", "sort",  "extend", "remove"};

template <size_t n>
bool IsOneOf(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// ImmutableSandboxedEnvironment: hides methods that change a list or dict.
bool IsMutator(const Value& value, std::string_view name) {
  if (value.AsDict() != nullptr) return IsOneOf(kDictMutators, name);
  return value.AsList() != nullptr && IsOneOf(kListMutators, name);
}

std::optional<Value> OwnAttribute(Runtime& rt, const Value& value, std::string_view name) {
  if (Object* object = value.AsObject()) return object->GetAttr(rt, name);
  if (IsMutator(value, name)) {
    return MakeUndefined(rt, "access to attribute '{}' of '{}' object is unsafe", name, value.TypeName());
  }
  if (const Builtin* method = FindMethod(value, name)) return BindMethod(rt, value, *method);
  if (const ListData* group = value.AsSequence(); group != nullptr && group->type == SequenceType::kGroup) {
    if (name == "grouper") return group->items[0];
    if (name == "list") return group->items[1];
  }
  return std::nullopt;
}

std::optional<Value> IndexedItem(Runtime& rt, const Value& value, const Value& key) {
  const auto number = AsNumber(key);
  if (!number || number->is_float) return std::nullopt;
  const auto length = static_cast<int64_t>(*Length(rt, value));
  const int64_t at = number->i < 0 ? number->i + length : number->i;
  if (at < 0 || at >= length) return std::nullopt;
  if (const ListData* list = value.AsSequence()) return list->items[static_cast<size_t>(at)];
  const Str& str = *value.AsStr();
  const size_t begin = ByteOfChar(str.view(), str.chars(), static_cast<size_t>(at));
  if (str.chars() != str.view().size()) rt.meter().Step(begin / 32);
  return MakeSlice(rt, str, begin, begin + DecodeAt(str.view(), begin).size);
}

std::optional<Value> OwnItem(Runtime& rt, const Value& value, const Value& key) {
  if (const DictData* dict = value.AsDict()) {
    if (key.AsList() != nullptr || key.AsDict() != nullptr) return std::nullopt;
    const Value* item = dict->Find(key);
    return item != nullptr ? std::optional(*item) : std::nullopt;
  }
  if (value.AsSequence() != nullptr || value.IsStr()) return IndexedItem(rt, value, key);
  if (Object* object = value.AsObject()) return object->GetItem(rt, key);
  return std::nullopt;
}

std::optional<int64_t> SliceIndex(const Value& value) {
  if (value.IsNone()) return std::nullopt;
  const auto number = AsNumber(value);
  if (!number || number->is_float) Raise("slice indices must be integers or None");
  return number->i;
}

Value SliceStr(Runtime& rt, const Str& str, const SliceBounds& bounds) {
  const std::string_view text = str.view();
  if (bounds.count == 0) return MakeSlice(rt, str, 0, 0);
  const auto byte_of = [&](int64_t index) { return ByteOfChar(text, str.chars(), static_cast<size_t>(index)); };
  rt.meter().Step(text.size() / 32);
  if (bounds.step == 1) {
    return MakeSlice(rt, str, byte_of(bounds.start), byte_of(bounds.start + static_cast<int64_t>(bounds.count)));
  }
  TextBuilder out(rt);
  rt.meter().Step(bounds.count);
  size_t byte = byte_of(bounds.start);
  for (size_t left = bounds.count; left > 0; --left) {
    out.AppendSlice(str.text(), byte, byte + DecodeAt(text, byte).size);
    if (left == 1) break;
    // Walks instead of indexing, so that a long non-ASCII text takes linear time.
    for (int64_t i = 0; i < bounds.step; ++i) byte += DecodeAt(text, byte).size;
    for (int64_t i = 0; i > bounds.step; --i) byte = PreviousChar(text, byte);
  }
  return MakeStr(rt, out, str.markup);
}

Value NoAttribute(Runtime& rt, const Value& value, std::string_view name) {
  return MakeUndefined(rt, "'{} object' has no attribute '{}'", value.TypeName(), Shorten(name));
}

}  // namespace

Value GetAttribute(Runtime& rt, const Value& value, std::string_view name) {
  RaiseIfUndefined(value);
  if (auto attribute = OwnAttribute(rt, value, name)) return *attribute;
  if (const DictData* dict = value.AsDict()) {
    if (const Value* item = dict->Find(name)) return *item;
  }
  return NoAttribute(rt, value, name);
}

Value GetOwnAttribute(Runtime& rt, const Value& value, std::string_view name) {
  RaiseIfUndefined(value);
  if (auto attribute = OwnAttribute(rt, value, name)) return *attribute;
  return NoAttribute(rt, value, name);
}

Value GetItem(Runtime& rt, const Value& value, const Value& key) {
  RaiseIfUndefined(value);
  if (auto item = OwnItem(rt, value, key)) return *item;
  if (const Str* name = key.AsStr()) {
    if (auto attribute = OwnAttribute(rt, value, name->view())) return *attribute;
    return NoAttribute(rt, value, name->view());
  }
  if (const auto* index = key.AsInt()) {
    return MakeUndefined(rt, "{} object has no element {}", value.TypeName(), index->value);
  }
  return MakeUndefined(rt, "{} object has no such element", value.TypeName());
}

SliceBounds ResolveSlice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step, size_t size) {
  if (step == 0) Raise("slice step cannot be zero");
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  const auto length = static_cast<int64_t>(size);
  const int64_t lowest = step < 0 ? -1 : 0;
  const int64_t highest = step < 0 ? length - 1 : length;
  const auto clamp = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    if (*bound < 0) return *bound < -length ? lowest : std::max(lowest, *bound + length);
    return std::min(*bound, highest);
  };
  const int64_t from = clamp(start, step < 0 ? highest : lowest);
  const int64_t to = clamp(stop, step < 0 ? lowest : highest);
  int64_t count = 0;
  if (step > 0 && from < to) count = (to - from - 1) / step + 1;
  if (step < 0 && to < from) count = (from - to - 1) / -step + 1;
  return {from, to, step, static_cast<size_t>(count)};
}

Value GetSlice(Runtime& rt, const Value& value, const Value& start, const Value& stop, const Value& step) {
  RaiseIfUndefined(value);
  const bool sliceable = value.IsStr() || value.AsSequence() != nullptr || value.As<RangeObject>() != nullptr;
  if (!sliceable) Raise("'{}' object cannot be sliced", value.TypeName());
  const auto bounds =
      ResolveSlice(SliceIndex(start), SliceIndex(stop), SliceIndex(step).value_or(1), *Length(rt, value));
  if (const Str* str = value.AsStr()) return SliceStr(rt, *str, bounds);
  if (const auto* range = value.As<RangeObject>()) return range->Slice(rt, bounds.start, bounds.stop, bounds.step);
  std::vector<Value> items;
  rt.meter().Step(bounds.count);
  rt.meter().CheckRoom(bounds.count * sizeof(Value));
  items.reserve(bounds.count);
  for (size_t i = 0; i < bounds.count; ++i) {
    const auto at = static_cast<size_t>(bounds.start + static_cast<int64_t>(i) * bounds.step);
    items.push_back(value.AsSequence()->items[at]);
  }
  const bool is_list = value.AsList() != nullptr;
  return MakeList(rt, std::move(items), is_list ? SequenceType::kList : SequenceType::kTuple);
}

}  // namespace inferflux::text::jinja
