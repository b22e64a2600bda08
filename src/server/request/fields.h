// Reads a JSON object into a struct by a table of fields, each with a type and a declared range. Unknown fields are
// errors that name them. null means an absent field, as in OpenAI's API.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/request/api_error.h"

namespace inferflux::server {

template <class T>
struct NumberField {
  float T::*member;
  double min;
  double max;
};
template <class T>
struct IntegerField {
  std::optional<int64_t> T::*member;
  int64_t min;
  int64_t max;
};
// An integer with a member value that means "absent".
template <class T>
struct CountField {
  int32_t T::*member;
  int32_t min;
  int32_t max;
};
template <class T>
struct BooleanField {
  bool T::*member;
};
template <class T>
struct TextField {
  std::string T::*member;
  size_t max_bytes;
};
// A value with its own parser. `param` is the field's full name, for messages.
template <class T>
struct CustomField {
  ApiStatus (*take)(const boost::json::value& value, std::string_view param, T& out);
};
// A field of the API that is accepted only with the value that has no effect.
struct NoOpField {
  std::string_view json;  // that value; empty: only null
};
// A field that cannot change the text: only its type is checked.
struct IgnoredField {
  enum class Type : uint8_t { kAny, kBoolean, kNumber, kText, kObject };
  Type type = Type::kAny;
  std::string_view why;  // for the documentation
};

template <class T>
struct Field {
  std::string_view name;
  std::variant<NumberField<T>, IntegerField<T>, CountField<T>, BooleanField<T>, TextField<T>, CustomField<T>, NoOpField,
               IgnoredField>
      kind;
};

// --- read one value each; `param` names it in the error ---

ApiResult<double> ReadNumber(const boost::json::value& value, std::string_view param, double min, double max);
ApiResult<int64_t> ReadInteger(const boost::json::value& value, std::string_view param, int64_t min, int64_t max);
ApiResult<bool> ReadBoolean(const boost::json::value& value, std::string_view param);
ApiResult<std::string> ReadText(const boost::json::value& value, std::string_view param, size_t max_bytes);
ApiStatus ReadNoOp(const boost::json::value& value, std::string_view param, std::string_view neutral);
ApiStatus ReadIgnored(const boost::json::value& value, std::string_view param, IgnoredField::Type type);
ApiResult<const boost::json::object*> ReadObject(const boost::json::value& value, std::string_view param);
ApiResult<const boost::json::array*> ReadArray(const boost::json::value& value, std::string_view param,
                                               size_t max_items);

// Names the field that a peer's field of this name is called here, or the nearest of `known`.
tl::unexpected<ApiError> RefuseUnknown(std::string_view param, const std::vector<std::string_view>& known = {});
// "messages[0]" and "role" make "messages[0].role".
std::string Join(std::string_view parent, std::string_view name);
// The name of entry `index` of a list of `count`. A single entry has the list's name.
std::string EntryName(std::string_view param, size_t index, size_t count);

namespace internal {

template <class T>
struct FieldParser {
  const boost::json::value& value;
  std::string_view param;
  T& out;

  ApiStatus operator()(const NumberField<T>& field) const {
    return ReadNumber(value, param, field.min, field.max).map([&](double number) {
      out.*field.member = static_cast<float>(number);
    });
  }
  ApiStatus operator()(const IntegerField<T>& field) const {
    return ReadInteger(value, param, field.min, field.max).map([&](int64_t number) { out.*field.member = number; });
  }
  ApiStatus operator()(const CountField<T>& field) const {
    return ReadInteger(value, param, field.min, field.max).map([&](int64_t number) {
      out.*field.member = static_cast<int32_t>(number);
    });
  }
  ApiStatus operator()(const BooleanField<T>& field) const {
    return ReadBoolean(value, param).map([&](bool truth) { out.*field.member = truth; });
  }
  ApiStatus operator()(const TextField<T>& field) const {
    return ReadText(value, param, field.max_bytes).map([&](std::string text) { out.*field.member = std::move(text); });
  }
  ApiStatus operator()(const CustomField<T>& field) const { return field.take(value, param, out); }
  ApiStatus operator()(const NoOpField& field) const { return ReadNoOp(value, param, field.json); }
  ApiStatus operator()(const IgnoredField& field) const { return ReadIgnored(value, param, field.type); }
};

template <class T>
const Field<T>* FindField(std::span<const Field<T>> fields, std::string_view name) {
  for (const Field<T>& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace internal

// Appends the names of the fields, for suggestions.
template <class T>
void AppendNames(std::span<const Field<T>> fields, std::vector<std::string_view>& out) {
  for (const Field<T>& field : fields) out.push_back(field.name);
}

// Reads `value` if `name` is one of `fields`; otherwise returns false.
template <class T>
ApiResult<bool> ParseField(std::span<const Field<T>> fields, std::string_view name, std::string_view param,
                           const boost::json::value& value, T& out) {
  const Field<T>* field = internal::FindField(fields, name);
  if (field == nullptr) return false;
  if (value.is_null()) return true;
  return std::visit(internal::FieldParser<T>{value, param, out}, field->kind).map([] { return true; });
}

// Reads the whole object. `parent` is its name, empty for the request itself.
template <class T>
ApiStatus ParseObject(std::span<const Field<T>> fields, std::string_view parent, const boost::json::object& object,
                      T& out) {
  for (const auto& [key, value] : object) {
    const std::string param = Join(parent, key);
    const ApiResult<bool> taken = ParseField(fields, key, param, value, out);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    std::vector<std::string_view> known;
    AppendNames(fields, known);
    return RefuseUnknown(param, known);
  }
  return {};
}

}  // namespace inferflux::server
