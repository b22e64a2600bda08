// Messages to JSON and back. Reading collects every error of a message, and never repeats what the message says.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "worker/contract/message.h"

namespace inferflux::worker {

// What is wrong with one field: its path ("sampling.top_p"), the violated constraint, by its keyword in JSON Schema,
// and a sentence.
struct FieldError {
  std::string field;
  std::string constraint;
  std::string message;
};

class FieldErrors {
 public:
  static constexpr size_t kMost = 64;  // further ones are dropped: a long list of bad entries is one mistake

  void Add(std::string_view field, std::string_view constraint, std::string message) {
    if (errors_.size() < kMost) errors_.push_back({std::string(field), std::string(constraint), std::move(message)});
  }
  bool empty() const { return errors_.empty(); }
  bool full() const { return errors_.size() == kMost; }
  const std::vector<FieldError>& all() const { return errors_; }

  // One line of all, for logs and for callers that expect one error.
  std::string Joined() const {
    std::string out;
    for (const FieldError& error : errors_) {
      out += fmt::format("{}{} {}", out.empty() ? "" : "; ", error.field.empty() ? "the message" : error.field,
                         error.message);
    }
    return out;
  }

 private:
  std::vector<FieldError> errors_;
};

// JSON has no infinity. This stands for "impossible" among log probabilities.
inline constexpr double kLowestNumber = std::numeric_limits<float>::lowest();

namespace internal {

struct Limits {
  double min = 0;
  double max = 0;
  bool set = false;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};

inline void CheckNumber(double number, const Limits& limits, std::string_view path, FieldErrors& errors) {
  if (!limits.set) return;
  if (number < limits.min) errors.Add(path, "minimum", fmt::format("must be at least {}", limits.min));
  if (number > limits.max) errors.Add(path, "maximum", fmt::format("must be at most {}", limits.max));
}

inline bool CheckSize(size_t size, std::string_view what, std::string_view least, std::string_view most,
                      const Limits& limits, std::string_view path, FieldErrors& errors) {
  if (!limits.set) return true;
  const auto count = static_cast<double>(size);
  if (count < limits.min) errors.Add(path, least, fmt::format("must have at least {} {}", limits.min, what));
  if (count > limits.max) errors.Add(path, most, fmt::format("must have at most {} {}", limits.max, what));
  return count <= limits.max;
}

}  // namespace internal

template <Message T>
boost::json::object WriteMessage(const T& message);
template <Message T>
void ReadMessage(const boost::json::value& value, std::string_view path, T& out, FieldErrors& errors);

template <class V>
boost::json::value WriteValue(const V& value) {
  if constexpr (Message<V>) {
    return WriteMessage(value);
  } else if constexpr (Words<V>) {
    return boost::json::string(WordOf(value));
  } else if constexpr (std::same_as<V, std::string>) {
    return boost::json::string(value);
  } else if constexpr (std::floating_point<V>) {
    return std::isfinite(value) ? static_cast<double>(value) : value > 0 ? -kLowestNumber : kLowestNumber;
  } else if constexpr (std::integral<V>) {
    return value;
  } else if constexpr (internal::IsPair<V>::value) {
    return boost::json::value(boost::json::array{WriteValue(value.first), WriteValue(value.second)});
  } else {
    boost::json::array out;
    out.reserve(value.size());
    for (const auto& entry : value) out.push_back(WriteValue(entry));
    return boost::json::value(std::move(out));
  }
}

template <class V>
void ReadValue(const boost::json::value& value, std::string_view path, const internal::Limits& limits, V& out,
               FieldErrors& errors) {
  if constexpr (Message<V>) {
    ReadMessage(value, path, out, errors);
  } else if constexpr (Words<V>) {
    if (!value.is_string()) return errors.Add(path, "type", "must be a string");
    for (const auto& [word, each] : WordsOf<V>::kWords) {
      if (value.get_string() == word) {
        out = each;
        return;
      }
    }
    std::string known;
    for (const auto& [word, each] : WordsOf<V>::kWords) known += (known.empty() ? "" : ", ") + std::string(word);
    errors.Add(path, "enum", "must be one of " + known);
  } else if constexpr (std::same_as<V, bool>) {
    if (!value.is_bool()) return errors.Add(path, "type", "must be true or false");
    out = value.get_bool();
  } else if constexpr (std::same_as<V, std::string>) {
    if (!value.is_string()) return errors.Add(path, "type", "must be a string");
    if (!internal::CheckSize(value.get_string().size(), "bytes", "minLength", "maxLength", limits, path, errors))
      return;
    out = std::string(value.get_string());
  } else if constexpr (std::floating_point<V>) {
    boost::json::error_code failed;
    const auto number = value.to_number<double>(failed);
    if (failed || !std::isfinite(number)) return errors.Add(path, "type", "must be a number");
    internal::CheckNumber(number, limits, path, errors);
    out = static_cast<V>(std::clamp(number, kLowestNumber, -kLowestNumber));
  } else if constexpr (std::integral<V>) {
    boost::json::error_code failed;
    const auto number = value.to_number<V>(failed);
    if (failed) return errors.Add(path, "type", fmt::format("must be an integer of {} bits", 8 * sizeof(V)));
    internal::CheckNumber(static_cast<double>(number), limits, path, errors);
    out = number;
  } else if constexpr (internal::IsPair<V>::value) {
    if (!value.is_array() || value.get_array().size() != 2) return errors.Add(path, "type", "must be an array of two");
    ReadValue(value.get_array()[0], fmt::format("{}[0]", path), {}, out.first, errors);
    ReadValue(value.get_array()[1], fmt::format("{}[1]", path), {}, out.second, errors);
  } else {
    static_assert(internal::IsVector<V>::value);
    if (!value.is_array()) return errors.Add(path, "type", "must be an array");
    const auto& entries = value.get_array();
    if (!internal::CheckSize(entries.size(), "entries", "minItems", "maxItems", limits, path, errors)) return;
    out.clear();
    out.reserve(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      ReadValue(entries[i], fmt::format("{}[{}]", path, i), {}, out.emplace_back(), errors);
      if (errors.full()) return;
    }
  }
}

template <Message T>
boost::json::object WriteMessage(const T& message) {
  boost::json::object out;
  if constexpr (TypedMessage<T>) out["type"] = MessageOf<T>::kType;
  const auto write = [&](const auto& field) {
    const auto& value = message.*field.member;
    using V = std::remove_cvref_t<decltype(value)>;
    if constexpr (internal::IsOptional<V>::value) {
      if (value) out[field.name] = WriteValue(*value);
    } else if constexpr (internal::IsVector<V>::value) {
      if (field.required || !value.empty()) out[field.name] = WriteValue(value);
    } else {
      out[field.name] = WriteValue(value);
    }
  };
  std::apply([&](const auto&... field) { (write(field), ...); }, MessageOf<T>::Fields());
  return out;
}

template <Message T>
void ReadMessage(const boost::json::value& value, std::string_view path, T& out, FieldErrors& errors) {
  if (!value.is_object()) return errors.Add(path, "type", "must be an object");
  const auto& object = value.get_object();
  size_t known = 0;
  const auto join = [&](std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  };
  const auto read = [&](const auto& field) {
    const auto* found = object.if_contains(field.name);
    if (found != nullptr) ++known;
    if (found == nullptr || found->is_null()) {
      if (field.required) errors.Add(join(field.name), "required", "is needed");
      return;
    }
    auto& member = out.*field.member;
    using V = std::remove_cvref_t<decltype(member)>;
    const internal::Limits limits{field.min, field.max, field.limited};
    if constexpr (internal::IsOptional<V>::value) {
      ReadValue(*found, join(field.name), limits, member.emplace(), errors);
    } else {
      ReadValue(*found, join(field.name), limits, member, errors);
    }
  };
  std::apply([&](const auto&... field) { (read(field), ...); }, MessageOf<T>::Fields());
  if constexpr (TypedMessage<T>) {
    const auto* type = object.if_contains("type");
    if (type == nullptr) {
      errors.Add(join("type"), "required", "is needed");
    } else if (++known; !type->is_string() || type->get_string() != MessageOf<T>::kType) {
      errors.Add(join("type"), "const", fmt::format("must be {}", MessageOf<T>::kType));
    }
  }
  if (known == object.size()) return;
  for (const auto& member : object) {
    bool is_known = TypedMessage<T> && member.key() == "type";
    std::apply([&](const auto&... field) { ((is_known |= member.key() == field.name), ...); }, MessageOf<T>::Fields());
    // The name is the client's own text, and may be of any length.
    if (!is_known) errors.Add(join(std::string_view(member.key()).substr(0, 64)), "additionalProperties", "is unknown");
  }
}

template <Message T>
std::string ToText(const T& message) {
  return boost::json::serialize(WriteMessage(message));
}

// The JSON value of a body, or the one error that it is none.
inline std::optional<boost::json::value> ParseBody(std::string_view body, FieldErrors& errors) {
  boost::json::error_code failed;
  boost::json::parse_options options;
  options.max_depth = 64;
  auto value = boost::json::parse(body, failed, {}, options);
  if (!failed) return value;
  errors.Add("", "type", "is not JSON: " + failed.message());
  return std::nullopt;
}

// The message that a body holds, or all that is wrong with it.
template <Message T>
tl::expected<T, FieldErrors> FromText(std::string_view body) {
  FieldErrors errors;
  T out;
  if (const auto value = ParseBody(body, errors)) ReadMessage(*value, "", out, errors);
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  return out;
}

}  // namespace inferflux::worker
