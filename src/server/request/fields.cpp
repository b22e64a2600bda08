#include "server/request/fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

#include "base/nearest.h"
#include "server/request/peer_names.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

// The JSON type of a value, for messages.
std::string_view KindName(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "something else";
}

tl::unexpected<ApiError> WrongType(const json::value& value, std::string_view param, std::string_view wanted) {
  auto out = Refuse(param, "must be {}, but is {}", wanted, KindName(value));
  out.value().code = "invalid_type";
  return out;
}

}  // namespace

ApiResult<double> ReadNumber(const json::value& value, std::string_view param, double min, double max) {
  if (!value.is_number()) return WrongType(value, param, "a number");
  const double number = value.to_number<double>();
  if (!(number >= min && number <= max)) return Refuse(param, "must be from {} to {}, but is {}", min, max, number);
  return number;
}

ApiResult<int64_t> ReadInteger(const json::value& value, std::string_view param, int64_t min, int64_t max) {
  if (!value.is_number()) return WrongType(value, param, "an integer");
  boost::system::error_code inexact;
  const int64_t number = value.to_number<int64_t>(inexact);
  if (inexact && value.is_double() && value.get_double() != std::floor(value.get_double())) {
    return WrongType(value, param, "an integer");
  }
  if (inexact || number < min || number > max) {
    return Refuse(param, "must be from {} to {}, but is {}", min, max, json::serialize(value));
  }
  return number;
}

ApiResult<bool> ReadBoolean(const json::value& value, std::string_view param) {
  if (!value.is_bool()) return WrongType(value, param, "a boolean");
  return value.get_bool();
}

ApiResult<std::string> ReadText(const json::value& value, std::string_view param, size_t max_bytes) {
  if (!value.is_string()) return WrongType(value, param, "a string");
  const json::string& text = value.get_string();
  if (text.size() > max_bytes) return Refuse(param, "must be of at most {} bytes, but has {}", max_bytes, text.size());
  return std::string(text);
}

ApiStatus ReadNoOp(const json::value& value, std::string_view param, std::string_view neutral) {
  if (!neutral.empty() && value == json::parse(neutral)) return {};
  std::string message = fmt::format("'{}' is not supported", param);
  message += neutral.empty() ? "; leave it out" : fmt::format(" except as {}", neutral);
  return RefuseAs("unsupported_parameter", param, std::move(message));
}

ApiStatus ReadIgnored(const json::value& value, std::string_view param, IgnoredField::Type type) {
  using Type = IgnoredField::Type;
  if (type == Type::kBoolean && !value.is_bool()) return WrongType(value, param, "a boolean");
  if (type == Type::kNumber && !value.is_number()) return WrongType(value, param, "a number");
  if (type == Type::kText && !value.is_string()) return WrongType(value, param, "a string");
  if (type == Type::kObject && !value.is_object()) return WrongType(value, param, "an object");
  return {};
}

ApiResult<const json::object*> ReadObject(const json::value& value, std::string_view param) {
  if (!value.is_object()) return WrongType(value, param, "an object");
  return &value.get_object();
}

ApiResult<const json::array*> ReadArray(const json::value& value, std::string_view param, size_t max_items) {
  if (!value.is_array()) return WrongType(value, param, "an array");
  const json::array& array = value.get_array();
  if (array.size() > max_items) return Refuse(param, "must have at most {} items, but has {}", max_items, array.size());
  return &array;
}

tl::unexpected<ApiError> RefuseUnknown(std::string_view param, const std::vector<std::string_view>& known) {
  std::string message = fmt::format("Unrecognized request argument supplied: {}", param);
  const std::string_view name = param.substr(param.rfind('.') + 1);  // npos + 1 is 0
  const std::string hint = PeerNameHint(name, known);
  message += hint.empty() ? Suggestion(name, known) : hint;
  return RefuseAs("unknown_parameter", param, std::move(message));
}

std::string Join(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
}

std::string EntryName(std::string_view param, size_t index, size_t count) {
  return count == 1 ? std::string(param) : fmt::format("{}[{}]", param, index);
}

}  // namespace inferflux::server
