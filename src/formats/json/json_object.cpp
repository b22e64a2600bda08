#include "formats/json/json_object.h"

#include <boost/json/parse.hpp>
#include <cmath>
#include <type_traits>

#include "base/mapped_file.h"
#include "formats/byte_reader.h"
#include "formats/is_vector.h"
#include "formats/printable.h"

namespace inferflux::formats {
namespace {

namespace json = boost::json;

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;

template <class T>
Result<T> AsInteger(const json::value& value, const std::string& where) {
  if (const int64_t* number = value.if_int64(); number != nullptr && std::in_range<T>(*number)) {
    return static_cast<T>(*number);
  }
  if (const uint64_t* number = value.if_uint64(); number != nullptr && std::in_range<T>(*number)) {
    return static_cast<T>(*number);
  }
  // Python writes some integers as floats. Accepts those that float64 holds exactly.
  if (const double* number = value.if_double(); number != nullptr && std::fabs(*number) <= 0x1p53 &&
                                                *number == std::floor(*number) &&
                                                std::in_range<T>(static_cast<int64_t>(*number))) {
    return static_cast<T>(*number);
  }
  if (value.is_number()) return Fail(ErrorCode::kDataLoss, "{} is not a whole number in range", where);
  return Fail(ErrorCode::kDataLoss, "{} should be a whole number, but is {}", where, JsonKindName(value.kind()));
}

}  // namespace

std::string_view JsonKindName(json::kind kind) {
  switch (kind) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "true or false";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

// Python writes Infinity and NaN, which are not JSON: they become null, as if they were left out.
std::string WithoutPythonsNumbers(std::string_view text) {
  std::string out;
  bool quoted = false;
  while (!text.empty()) {
    const auto skip = [&](std::string_view word) {
      if (quoted || !text.starts_with(word)) return false;
      text.remove_prefix(word.size());
      out += "null";
      return true;
    };
    if (skip("-Infinity") || skip("Infinity") || skip("NaN")) continue;
    const size_t count = quoted && text[0] == '\\' && text.size() > 1 ? 2 : 1;
    if (text[0] == '"') quoted = !quoted;
    out += text.substr(0, count);
    text.remove_prefix(count);
  }
  return out;
}

Result<json::value> ParseJson(std::string_view text, const std::string& source) {
  try {
    json::error_code failure;
    json::value value = json::parse(text, failure);
    if (failure && (text.find("Infinity") != text.npos || text.find("NaN") != text.npos)) {
      failure.clear();
      value = json::parse(WithoutPythonsNumbers(text), failure);
    }
    if (failure) return Fail(ErrorCode::kDataLoss, "{}: not valid JSON: {}", source, failure.message());
    return value;
  } catch (const std::exception& exception) {  // out of memory
    return Fail(ErrorCode::kResourceExhausted, "{}: reading the JSON failed: {}", source, exception.what());
  }
}

template <class T>
Result<T> JsonAs(const json::value& value, const std::string& where) {
  if constexpr (IsVector<T>::value) {
    const json::array* list = value.if_array();
    if (list == nullptr)
      return Fail(ErrorCode::kDataLoss, "{} should be a list, but is {}", where, JsonKindName(value.kind()));
    T items;
    items.reserve(list->size());
    for (size_t i = 0; i < list->size(); ++i) {
      auto item = JsonAs<typename T::value_type>((*list)[i], fmt::format("{}[{}]", where, i));
      if (!item) return Forward(item);
      items.push_back(std::move(*item));
    }
    return items;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (const bool* flag = value.if_bool()) return *flag;
    return Fail(ErrorCode::kDataLoss, "{} should be true or false, but is {}", where, JsonKindName(value.kind()));
  } else if constexpr (std::is_integral_v<T>) {
    return AsInteger<T>(value, where);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number())
      return Fail(ErrorCode::kDataLoss, "{} should be a number, but is {}", where, JsonKindName(value.kind()));
    return static_cast<T>(value.to_number<double>());
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (const json::string* text = value.if_string()) return std::string(text->data(), text->size());
    return Fail(ErrorCode::kDataLoss, "{} should be a string, but is {}", where, JsonKindName(value.kind()));
  } else {
    static_assert(std::is_same_v<T, JsonObject>);
    const json::object* object = value.if_object();
    if (object == nullptr)
      return Fail(ErrorCode::kDataLoss, "{} should be an object, but is {}", where, JsonKindName(value.kind()));
    return JsonObject::Borrow(*object, where);
  }
}

Result<JsonObject> JsonObject::Parse(std::string_view text, std::string source) {
  auto value = ParseJson(text, source);
  if (!value) return Forward(value);
  if (!value->is_object()) {
    return Fail(ErrorCode::kDataLoss, "{}: it should hold an object, but holds {}", source,
                JsonKindName(value->kind()));
  }
  return JsonObject(std::make_shared<const json::object>(std::move(value->get_object())), std::move(source));
}

Result<JsonObject> JsonObject::ReadFile(const std::string& path) {
  auto file = MappedFile::Open(path);
  if (!file) return Forward(file);
  const auto bytes = (*file)->bytes();
  if (bytes.size() > kMaxFileBytes) {
    return Fail(ErrorCode::kDataLoss, "{}: {} bytes of JSON; at most {} are read", path, bytes.size(), kMaxFileBytes);
  }
  return Parse(AsText(bytes), path);
}

JsonObject JsonObject::Borrow(const json::object& object, std::string source) {
  return JsonObject(std::shared_ptr<const json::object>(std::shared_ptr<void>(), &object), std::move(source));
}

const json::value* JsonObject::FindValue(std::string_view key) const {
  const json::value* value = object_->if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

template <class T>
Result<std::optional<T>> JsonObject::Find(std::string_view key) const {
  const json::value* value = FindValue(key);
  if (value == nullptr) return std::nullopt;
  auto converted = JsonAs<T>(*value, fmt::format("{}: {}", source_, Printable(key)));
  if (!converted) return Forward(converted);
  if constexpr (std::is_same_v<T, JsonObject>)
    converted->object_ = {object_, converted->object_.get()};  // keep the whole document
  return std::optional<T>(std::move(*converted));
}

template <class T>
Result<T> JsonObject::Get(std::string_view key) const {
  auto found = Find<T>(key);
  if (!found) return Forward(found);
  if (!*found) return Fail(ErrorCode::kNotFound, "{}: '{}' is missing", source_, Printable(key));
  return std::move(**found);
}

#define INFERFLUX_INSTANTIATE(T)                                                                           \
  template Result<T> JsonObject::Get<T>(std::string_view) const;                                           \
  template Result<std::optional<T>> JsonObject::Find<T>(std::string_view) const;                           \
  template Result<T> JsonAs<T>(const boost::json::value&, const std::string&);                             \
  template Result<std::vector<T>> JsonObject::Get<std::vector<T>>(std::string_view) const;                 \
  template Result<std::optional<std::vector<T>>> JsonObject::Find<std::vector<T>>(std::string_view) const; \
  template Result<std::vector<T>> JsonAs<std::vector<T>>(const boost::json::value&, const std::string&);
INFERFLUX_INSTANTIATE(bool)
INFERFLUX_INSTANTIATE(int32_t)
INFERFLUX_INSTANTIATE(uint32_t)
INFERFLUX_INSTANTIATE(int64_t)
INFERFLUX_INSTANTIATE(uint64_t)
INFERFLUX_INSTANTIATE(float)
INFERFLUX_INSTANTIATE(double)
INFERFLUX_INSTANTIATE(std::string)
INFERFLUX_INSTANTIATE(JsonObject)
#undef INFERFLUX_INSTANTIATE

}  // namespace inferflux::formats
