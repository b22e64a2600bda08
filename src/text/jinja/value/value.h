// The engine's values: Python's None, bool, int, float, str, list, tuple, dict, Jinja's Undefined, and objects.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/value/meter.h"
#include "text/jinja/value/traced_text.h"

namespace inferflux::text::jinja {

class Object;
class Value;

// Deeper containers are refused on creation, so that everything that recurses over a value (printing, comparing,
// destroying) is bounded.
constexpr int kMaxNesting = 200;

// A scalar records whether it was computed from the template alone, because it may be printed.
template <class T>
struct Scalar {
  T value;
  bool trusted;
};

struct StrData {
  StrData(Meter* meter, TracedText text);

  TracedText text;
  size_t chars;  // code points
  MemoryCharge charge;
};

struct Str {
  std::shared_ptr<const StrData> data;
  bool markup = false;  // markupsafe.Markup: what |safe and |escape make

  const TracedText& text() const { return data->text; }
  std::string_view view() const { return data->text.view(); }
  size_t chars() const { return data->chars; }
};

enum class SequenceType { kList, kTuple, kGroup };  // kGroup: groupby's (grouper, list) tuple, with names

struct ListData {
  ListData(Meter* meter, SequenceType type, std::vector<Value> items);
  ~ListData();

  SequenceType type;
  std::vector<Value> items;
  int depth;
  MemoryCharge charge;
};

struct DictData;

struct UndefinedData {
  UndefinedData(Meter* meter, std::string text) : message(std::move(text)), charge(meter, 64 + message.size()) {}

  std::string message;  // the error of an operation on it
  MemoryCharge charge;
};

struct None {};

class Value {
 public:
  using ListPtr = std::shared_ptr<const ListData>;
  using DictPtr = std::shared_ptr<const DictData>;
  using UndefinedPtr = std::shared_ptr<const UndefinedData>;
  using ObjectPtr = std::shared_ptr<Object>;
  using Data =
      std::variant<None, Scalar<bool>, Scalar<int64_t>, Scalar<double>, Str, ListPtr, DictPtr, UndefinedPtr, ObjectPtr>;

  Value() = default;
  Value(Str str) : data_(std::move(str)) {}                       // NOLINT: a value of each kind converts
  Value(ListPtr list) : data_(std::move(list)) {}                 // NOLINT
  Value(DictPtr dict) : data_(std::move(dict)) {}                 // NOLINT
  Value(UndefinedPtr undefined) : data_(std::move(undefined)) {}  // NOLINT
  Value(ObjectPtr object) : data_(std::move(object)) {}           // NOLINT
  // A result that the engine computes without regard to its origin is not trusted.
  static Value Bool(bool value, bool trusted = false) { return Value(Data(Scalar<bool>{value, trusted})); }
  static Value Int(int64_t value, bool trusted = false) { return Value(Data(Scalar<int64_t>{value, trusted})); }
  static Value Float(double value, bool trusted = false) { return Value(Data(Scalar<double>{value, trusted})); }

  bool IsNone() const { return Is<None>(); }
  bool IsUndefined() const { return Is<UndefinedPtr>(); }
  bool IsStr() const { return Is<Str>(); }
  const Scalar<bool>* AsBool() const { return std::get_if<Scalar<bool>>(&data_); }
  const Scalar<int64_t>* AsInt() const { return std::get_if<Scalar<int64_t>>(&data_); }
  const Scalar<double>* AsFloat() const { return std::get_if<Scalar<double>>(&data_); }
  const Str* AsStr() const { return std::get_if<Str>(&data_); }
  const UndefinedData* AsUndefined() const { return Pointee<UndefinedPtr>(); }
  const ListData* AsSequence() const { return Pointee<ListPtr>(); }  // list or tuple
  const ListData* AsList() const { return OfType(true); }
  const ListData* AsTuple() const { return OfType(false); }
  const DictData* AsDict() const { return Pointee<DictPtr>(); }
  Object* AsObject() const {
    const ObjectPtr* object = std::get_if<ObjectPtr>(&data_);
    return object != nullptr ? object->get() : nullptr;
  }
  template <class T>
  T* As() const {
    return dynamic_cast<T*>(AsObject());
  }
  const Data& data() const { return data_; }

  int Depth() const;
  // Python's name of the type: "str", "NoneType", ...
  std::string_view TypeName() const;
  // True for the same object, as Python's `is`.
  bool IsSame(const Value& other) const;

 private:
  explicit Value(Data data) : data_(std::move(data)) {}
  template <class T>
  bool Is() const {
    return std::holds_alternative<T>(data_);
  }
  template <class P>
  const typename P::element_type* Pointee() const {
    const P* pointer = std::get_if<P>(&data_);
    return pointer != nullptr ? pointer->get() : nullptr;
  }
  const ListData* OfType(bool list) const {
    const ListData* sequence = AsSequence();
    return sequence != nullptr && (sequence->type == SequenceType::kList) == list ? sequence : nullptr;
  }

  Data data_;
};

// A dict keeps its keys in insertion order. A later equal key replaces the value, not the key.
struct DictData {
  explicit DictData(Meter* meter) : meter(meter) {}

  // Null if there is none. An unhashable key is a TypeError.
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  void Set(const Value& key, const Value& value);
  void Clear();

  std::vector<std::pair<Value, Value>> entries;
  std::unordered_multimap<size_t, size_t> index;  // hash of a key to its place in `entries`
  int depth = 1;
  Meter* meter;
  MemoryCharge charge;  // grows in powers of two
  uint64_t charged_entries = 0;

 private:
  size_t Locate(size_t hash, const Value& key) const;
};

}  // namespace inferflux::text::jinja
