#include "text/jinja/builtins/builtin.h"

#include <span>
#include <unordered_map>

#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/evaluate/operators.h"

namespace inferflux::text::jinja {
namespace {

using Table = std::unordered_map<std::string_view, const Builtin*>;

Table MakeTable(std::initializer_list<std::span<const Builtin>> parts) {
  Table table;
  for (const auto part : parts) {
    for (const Builtin& builtin : part) table.emplace(builtin.name, &builtin);
  }
  return table;
}

const Builtin* Find(const Table& table, std::string_view name) {
  const auto entry = table.find(name);
  return entry != table.end() ? entry->second : nullptr;
}

class BoundMethod : public Object {
 public:
  BoundMethod(Value self, const Builtin& method) : self_(std::move(self)), method_(method) {}

  std::string_view TypeName() const override { return "builtin_function_or_method"; }
  int Depth() const override { return self_.Depth() + 1; }
  bool IsCallable() const override { return true; }
  Value Call(Runtime& rt, CallArgs args) override { return CallBuiltin(rt, method_, self_, std::move(args)); }

 private:
  Value self_;
  const Builtin& method_;
};

size_t CountParameters(const Builtin& builtin) {
  size_t count = 0;
  while (count < builtin.parameters.size() && !builtin.parameters[count].empty()) ++count;
  return count;
}

}  // namespace

Arguments::Arguments(const Builtin& builtin, CallArgs args) : builtin_(builtin), raw_(std::move(args)) {
  if (builtin.required == kVariadic) return;
  const size_t parameters = CountParameters(builtin);
  if (raw_.positional.size() > parameters) {
    Raise("{}() takes at most {} argument(s) ({} given)", builtin.name, parameters, raw_.positional.size());
  }
  for (size_t i = 0; i < raw_.positional.size(); ++i) bound_[i] = &raw_.positional[i];
  for (const auto& [name, value] : raw_.keyword) {
    size_t place = 0;
    while (place < parameters && builtin.parameters[place] != name) ++place;
    if (place == parameters) Raise("{}() got an unexpected keyword argument '{}'", builtin.name, Shorten(name));
    if (bound_[place] != nullptr) Raise("{}() got multiple values for argument '{}'", builtin.name, name);
    bound_[place] = &value;
  }
  for (size_t i = 0; i < static_cast<size_t>(builtin.required); ++i) {
    if (bound_[i] == nullptr) Raise("{}() is missing its argument '{}'", builtin.name, builtin.parameters[i]);
  }
}

int64_t Arguments::Int(size_t index, int64_t otherwise) const {
  return bound_[index] != nullptr ? ToInt(*bound_[index]) : otherwise;
}

bool Arguments::Bool(Runtime& rt, size_t index, bool otherwise) const {
  return bound_[index] != nullptr ? IsTrue(rt, *bound_[index]) : otherwise;
}

const Str& Arguments::Text(size_t index) const {
  const Str* str = bound_[index]->AsStr();
  if (str == nullptr) {
    Raise("{}() argument '{}' must be str, not {}", builtin_.name, builtin_.parameters[index],
          bound_[index]->TypeName());
  }
  return *str;
}

const Str* Arguments::OptionalText(size_t index) const { return Optional(index) != nullptr ? &Text(index) : nullptr; }

int64_t ToInt(const Value& value) {
  const auto number = AsNumber(value);
  if (!number || number->is_float) Raise("'{}' object cannot be interpreted as an integer", value.TypeName());
  return number->i;
}

Value CallBuiltin(Runtime& rt, const Builtin& builtin, const Value& self, CallArgs args) {
  rt.meter().Step();
  return builtin.function(rt, self, Arguments(builtin, std::move(args)));
}

Value BindMethod(Runtime& rt, const Value& self, const Builtin& method) {
  if (self.Depth() >= kMaxNesting) RaiseLimit("values nest deeper than {} levels", kMaxNesting);
  return Value::ObjectPtr(MakeObject<BoundMethod>(rt, self, method));
}

const Builtin* FindFilter(std::string_view name) {
  static const Table table =
      MakeTable({StringFilters(), NumberFilters(), SequenceFilters(), SelectionFilters(), JsonFilters()});
  return Find(table, name);
}

const Builtin* FindTest(std::string_view name) {
  static const Table table = MakeTable({Tests()});
  return Find(table, name);
}

const Builtin* FindMethod(const Value& value, std::string_view name) {
  static const Table str_table = MakeTable({StrMethods(), StrSearchMethods(), StrSplitMethods(), StrClassMethods()});
  static const Table sequence_table = MakeTable({SequenceMethods()});
  static const Table list_table = MakeTable({ListMethods()});
  static const Table dict_table = MakeTable({DictMethods()});
  if (value.IsStr()) return Find(str_table, name);
  if (value.AsDict() != nullptr) return Find(dict_table, name);
  if (value.AsSequence() == nullptr) return nullptr;
  if (const Builtin* method = Find(sequence_table, name)) return method;
  return value.AsList() != nullptr ? Find(list_table, name) : nullptr;
}

const Builtin* FindFunction(std::string_view name) {
  static const Table table = MakeTable({Functions()});
  return Find(table, name);
}

}  // namespace inferflux::text::jinja
