// Filters, tests, methods and functions of the engine: table rows of one type.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/jinja/value/object.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

struct Builtin;

// The arguments of one call, bound to the parameters of the builtin.
class Arguments {
 public:
  // Raises a TypeError for too many, too few, unknown or doubled arguments.
  Arguments(const Builtin& builtin, CallArgs args);

  // Null if it was not given.
  const Value* operator[](size_t index) const { return bound_[index]; }
  // A required parameter.
  const Value& At(size_t index) const { return *bound_[index]; }
  // A parameter that is null if it was not given or is none.
  const Value* Optional(size_t index) const {
    return bound_[index] != nullptr && !bound_[index]->IsNone() ? bound_[index] : nullptr;
  }
  int64_t Int(size_t index, int64_t otherwise) const;
  bool Bool(Runtime& rt, size_t index, bool otherwise) const;
  // A required str.
  const Str& Text(size_t index) const;
  // Null if it was not given or is none; raises for another type.
  const Str* OptionalText(size_t index) const;

  // In the order in which they were written; for variadic builtins.
  const CallArgs& raw() const { return raw_; }

 private:
  const Builtin& builtin_;
  CallArgs raw_;
  std::array<const Value*, 5> bound_ = {};
};

using BuiltinFunction = Value (*)(Runtime& rt, const Value& self, const Arguments& args);

constexpr int kVariadic = -1;

struct Builtin {
  std::string_view name;
  std::array<std::string_view, 5> parameters;  // the parameters after the value that is filtered, tested or called on
  int required;                                // how many are required, or kVariadic
  BuiltinFunction function;
};

Value CallBuiltin(Runtime& rt, const Builtin& builtin, const Value& self, CallArgs args);
// A callable that calls `method` on `self`.
Value BindMethod(Runtime& rt, const Value& self, const Builtin& method);

// Null if there is none.
const Builtin* FindFilter(std::string_view name);
const Builtin* FindTest(std::string_view name);
// A method of a str, list, tuple or dict.
const Builtin* FindMethod(const Value& value, std::string_view name);
// range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
const Builtin* FindFunction(std::string_view name);

// An int, or a bool as an int; raises a TypeError otherwise.
int64_t ToInt(const Value& value);

}  // namespace inferflux::text::jinja
