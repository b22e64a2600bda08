#include "text/jinja/value/value.h"

#include <algorithm>

#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/object.h"
#include "text/jinja/value/python_characters.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {
namespace {

constexpr uint64_t kNodeOverhead = 64;  // a shared block and its reference counts
constexpr uint64_t kEntryBytes = 2 * sizeof(Value) + 48;

int CheckedDepth(int depth) {
  if (depth > kMaxNesting) RaiseLimit("values nest deeper than {} levels", kMaxNesting);
  return depth;
}

int DepthOf(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.Depth());
  return CheckedDepth(depth + 1);
}

}  // namespace

StrData::StrData(Meter* meter, TracedText source)
    : text(std::move(source)),
      chars(CountChars(text.view())),
      charge(meter, kNodeOverhead + text.size() + text.runs().size() * sizeof(TracedText::Run)) {}

ListData::ListData(Meter* meter, SequenceType type, std::vector<Value> source)
    : type(type),
      items(std::move(source)),
      depth(DepthOf(items)),
      charge(meter, kNodeOverhead + items.size() * sizeof(Value)) {}

ListData::~ListData() = default;

int Value::Depth() const {
  if (const ListData* list = AsSequence()) return list->depth;
  if (const DictData* dict = AsDict()) return dict->depth;
  if (const Object* object = AsObject()) return object->Depth();
  return 0;
}

std::string_view Value::TypeName() const {
  if (const Object* object = AsObject()) return object->TypeName();
  if (const ListData* list = AsSequence()) return list->type == SequenceType::kList ? "list" : "tuple";
  if (const Str* str = AsStr()) return str->markup ? "Markup" : "str";
  static constexpr std::string_view kNames[] = {"NoneType", "bool", "int", "float", "str", "list", "dict", "Undefined"};
  return kNames[data_.index()];
}

bool Value::IsSame(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (const auto* a = AsBool()) return a->value == other.AsBool()->value;
  if (const auto* a = AsInt()) return a->value == other.AsInt()->value;
  if (const auto* a = AsFloat()) return a->value == other.AsFloat()->value;
  if (const auto* a = AsStr()) return a->data == other.AsStr()->data;
  if (const auto* a = AsSequence()) return a == other.AsSequence();
  if (const auto* a = AsDict()) return a == other.AsDict();
  if (const auto* a = AsObject()) return a == other.AsObject();
  if (const auto* a = AsUndefined()) return a == other.AsUndefined();
  return true;
}

size_t DictData::Locate(size_t hash, const Value& key) const {
  const auto [first, last] = index.equal_range(hash);
  for (auto candidate = first; candidate != last; ++candidate) {
    const Value& other = entries[candidate->second].first;
    if (IsEqual(*meter, key, other)) return candidate->second;
  }
  return entries.size();
}

const Value* DictData::Find(const Value& key) const {
  const size_t place = Locate(Hash(*meter, key), key);
  return place < entries.size() ? &entries[place].second : nullptr;
}

const Value* DictData::Find(std::string_view key) const {
  const auto [first, last] = index.equal_range(HashText(key));
  for (auto candidate = first; candidate != last; ++candidate) {
    const auto& [other, value] = entries[candidate->second];
    if (const Str* str = other.AsStr(); str != nullptr && str->view() == key) return &value;
  }
  return nullptr;
}

void DictData::Set(const Value& key, const Value& value) {
  const size_t hash = Hash(*meter, key);
  depth = CheckedDepth(std::max({depth, key.Depth() + 1, value.Depth() + 1}));
  if (const size_t place = Locate(hash, key); place < entries.size()) {
    entries[place].second = value;
    return;
  }
  if (entries.size() == charged_entries) {
    charged_entries = std::max<uint64_t>(4, 2 * charged_entries);
    charge = MemoryCharge(meter, kNodeOverhead + charged_entries * kEntryBytes);
  }
  index.emplace(hash, entries.size());
  entries.emplace_back(key, value);
}

void DictData::Clear() {
  const auto doomed = std::move(entries);
  entries.clear();
  index.clear();
}

}  // namespace inferflux::text::jinja
