#include "text/jinja/value/iterate.h"

#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/python_characters.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {
namespace {

class SequenceIterator : public Iterator {
 public:
  SequenceIterator(Value sequence, bool reversed) : sequence_(std::move(sequence)), reversed_(reversed) {}

  std::optional<Value> Next(Runtime& rt) override {
    const auto& items = sequence_.AsSequence()->items;
    if (next_ >= items.size()) return std::nullopt;
    rt.meter().Step();
    const size_t place = next_++;
    return items[reversed_ ? items.size() - 1 - place : place];
  }

 private:
  Value sequence_;
  bool reversed_;
  size_t next_ = 0;
};

class KeyIterator : public Iterator {
 public:
  KeyIterator(Value dict, bool reversed) : dict_(std::move(dict)), reversed_(reversed) {}

  std::optional<Value> Next(Runtime& rt) override {
    const auto& entries = dict_.AsDict()->entries;
    if (next_ >= entries.size()) return std::nullopt;
    rt.meter().Step();
    const size_t place = next_++;
    return entries[reversed_ ? entries.size() - 1 - place : place].first;
  }

 private:
  Value dict_;
  bool reversed_;
  size_t next_ = 0;
};

// Characters are plain str, also those of a Markup.
class CharIterator : public Iterator {
 public:
  CharIterator(const Str& str, bool reversed) : str_(str), reversed_(reversed), at_(reversed ? str.view().size() : 0) {
    str_.markup = false;
  }

  std::optional<Value> Next(Runtime& rt) override {
    if (at_ == (reversed_ ? 0 : str_.view().size())) return std::nullopt;
    rt.meter().Step();
    const size_t from = at_;
    if (reversed_) {
      at_ = PreviousChar(str_.view(), at_);
      return MakeSlice(rt, str_, at_, from);
    }
    at_ += DecodeAt(str_.view(), at_).size;
    return MakeSlice(rt, str_, from, at_);
  }

 private:
  Str str_;
  bool reversed_;
  size_t at_;
};

class Generator : public Object {
 public:
  Generator(int depth, std::unique_ptr<Iterator> iterator) : depth_(depth), iterator_(std::move(iterator)) {}

  std::string_view TypeName() const override { return "generator"; }
  int Depth() const override { return depth_; }
  std::unique_ptr<Iterator> Iterate(Runtime&) override {
    return std::make_unique<FunctionIterator>(
        [self = shared_from_this(), this](Runtime& rt) { return iterator_->Next(rt); });
  }

 private:
  int depth_;
  std::unique_ptr<Iterator> iterator_;
};

std::unique_ptr<Iterator> TryIterate(Runtime& rt, const Value& value, bool reversed) {
  if (value.AsSequence() != nullptr) return std::make_unique<SequenceIterator>(value, reversed);
  if (value.AsDict() != nullptr) return std::make_unique<KeyIterator>(value, reversed);
  if (const Str* str = value.AsStr()) return std::make_unique<CharIterator>(*str, reversed);
  if (value.IsUndefined() && !reversed) return IterateItems({});
  if (Object* object = value.AsObject()) return reversed ? object->IterateReversed(rt) : object->Iterate(rt);
  return nullptr;
}

}  // namespace

std::unique_ptr<Iterator> Iterate(Runtime& rt, const Value& value) {
  auto iterator = TryIterate(rt, value, false);
  if (iterator == nullptr) Raise("'{}' object is not iterable", value.TypeName());
  return iterator;
}

bool IsIterable(Runtime& rt, const Value& value) { return TryIterate(rt, value, false) != nullptr; }

std::unique_ptr<Iterator> IterateReversed(Runtime& rt, const Value& value) { return TryIterate(rt, value, true); }

std::vector<Value> Collect(Runtime& rt, const Value& value) {
  std::vector<Value> items;
  const auto iterator = Iterate(rt, value);
  while (auto item = iterator->Next(rt)) {
    if (items.size() == items.capacity()) rt.meter().CheckRoom(2 * items.size() * sizeof(Value));
    items.push_back(std::move(*item));
  }
  return items;
}

std::optional<size_t> Length(Runtime& rt, const Value& value) {
  if (const Str* str = value.AsStr()) return str->chars();
  if (const ListData* list = value.AsSequence()) return list->items.size();
  if (const DictData* dict = value.AsDict()) return dict->entries.size();
  if (value.IsUndefined()) return 0;
  if (Object* object = value.AsObject()) return object->Length(rt);
  return std::nullopt;
}

std::unique_ptr<Iterator> IterateItems(std::vector<Value> items) {
  return std::make_unique<FunctionIterator>(
      [items = std::move(items), next = size_t{0}](Runtime&) mutable -> std::optional<Value> {
        if (next == items.size()) return std::nullopt;
        return items[next++];
      });
}

Value MakeGenerator(Runtime& rt, int depth, std::unique_ptr<Iterator> iterator) {
  if (depth >= kMaxNesting) RaiseLimit("values nest deeper than {} levels", kMaxNesting);
  return Value::ObjectPtr(MakeObject<Generator>(rt, depth + 1, std::move(iterator)));
}

Value MakeGenerator(Runtime& rt, int depth, std::function<std::optional<Value>(Runtime&)> next) {
  return MakeGenerator(rt, depth, std::make_unique<FunctionIterator>(std::move(next)));
}

}  // namespace inferflux::text::jinja
