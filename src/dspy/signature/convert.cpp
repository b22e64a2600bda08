#include "dspy/signature/convert.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "dspy/python/literal_reader.h"
#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"
#include "dspy/signature/json_schema_check.h"

namespace inferflux::dspy {
namespace {

using Kind = FieldType::Kind;
using MaybeValue = std::optional<boost::json::value>;

constexpr size_t kMaxShownText = 200;

std::string_view ViewOf(const boost::json::string& text) { return {text.data(), text.size()}; }

std::string Shortened(std::string_view text) {
  if (text.size() <= kMaxShownText) return std::string(text);
  size_t end = 0;
  while (end < kMaxShownText) end += CharAt(text, end).size;
  return std::string(text.substr(0, end)) + "...";
}

std::optional<double> ReadDouble(std::string_view text) {
  text = Strip(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

MaybeValue IntOf(double number) {
  if (std::trunc(number) != number || std::abs(number) >= 9.2e18) return std::nullopt;
  return boost::json::value(static_cast<int64_t>(number));
}

MaybeValue LaxInt(const boost::json::value& value) {
  if (value.is_int64()) return value;
  if (value.is_bool()) return boost::json::value(int64_t{value.get_bool()});
  if (value.is_double()) return IntOf(value.get_double());
  const auto* text = value.if_string();
  if (!text) return std::nullopt;
  std::string_view digits = Strip(ViewOf(*text));
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view rest(end, digits.data() + digits.size());
  const bool zeros = rest.size() > 1 && rest[0] == '.' && rest.find_first_not_of('0', 1) == std::string_view::npos;
  if (!rest.empty() && !zeros) return std::nullopt;
  return boost::json::value(number);
}

MaybeValue LaxFloat(const boost::json::value& value) {
  std::optional<double> number;
  if (value.is_double()) number = value.get_double();
  if (value.is_int64()) number = static_cast<double>(value.get_int64());
  if (value.is_bool()) number = value.get_bool();
  if (const auto* text = value.if_string()) number = ReadDouble(ViewOf(*text));
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return boost::json::value(*number);
}

MaybeValue LaxBool(const boost::json::value& value) {
  if (value.is_bool()) return value;
  if (value.is_int64() || value.is_double()) {
    const double number = value.is_int64() ? static_cast<double>(value.get_int64()) : value.get_double();
    if (number == 0 || number == 1) return boost::json::value(number == 1);
  }
  const auto* text = value.if_string();
  if (!text) return std::nullopt;
  std::string word(Strip(ViewOf(*text)));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::string_view kYes[] = {"1", "on", "t", "true", "y", "yes"};
  static constexpr std::string_view kNo[] = {"0", "off", "f", "false", "n", "no"};
  if (std::ranges::find(kYes, word) != std::end(kYes)) return boost::json::value(true);
  if (std::ranges::find(kNo, word) != std::end(kNo)) return boost::json::value(false);
  return std::nullopt;
}

MaybeValue AmongValues(const boost::json::array& values, const boost::json::value& value) {
  for (const auto& one : values) {
    if (one.kind() == value.kind() && one == value) return one;
  }
  return std::nullopt;
}

// The text as it is, then without "Literal[...]", "str[...]" and quotes, then as a literal of another type.
MaybeValue ReadChoice(const boost::json::array& values, std::string_view text) {
  if (auto found = AmongValues(values, boost::json::value(text))) return found;
  std::string_view inner = Strip(text);
  if ((inner.starts_with("Literal[") || inner.starts_with("str[")) && inner.ends_with(']')) {
    inner = inner.substr(inner.find('[') + 1);
    inner.remove_suffix(1);
  }
  if (inner.size() > 1 && inner.front() == inner.back() && (inner.front() == '"' || inner.front() == '\'')) {
    inner = inner.substr(1, inner.size() - 2);
  }
  if (auto found = AmongValues(values, boost::json::value(inner))) return found;
  const auto literal = ReadLiteral(inner);
  return literal ? AmongValues(values, *literal) : std::nullopt;
}

MaybeValue EnumMember(const FieldType& type, const boost::json::value& value) {
  const auto* text = value.if_string();
  auto found = text ? ReadChoice(type.values, ViewOf(*text)) : AmongValues(type.values, value);
  if (found || !text) return found;
  const auto member = std::ranges::find(type.members, Strip(ViewOf(*text)));
  if (member == type.members.end()) return std::nullopt;
  return type.values[static_cast<size_t>(member - type.members.begin())];
}

bool IsExactly(const FieldType& type, const boost::json::value& value);
MaybeValue LaxValue(const FieldType& type, const boost::json::value& value);

MaybeValue LaxUnion(const FieldType& type, const boost::json::value& value) {
  for (const FieldType& way : type.of) {
    if (IsExactly(way, value)) return value;
  }
  for (const FieldType& way : type.of) {
    if (auto converted = LaxValue(way, value)) return converted;
  }
  return std::nullopt;
}

MaybeValue LaxList(const FieldType& type, const boost::json::value& value) {
  const auto* array = value.if_array();
  if (!array || type.of.empty()) return array ? MaybeValue(value) : std::nullopt;
  boost::json::array out;
  for (const auto& item : *array) {
    auto converted = LaxValue(type.of[0], item);
    if (!converted) return std::nullopt;
    out.push_back(std::move(*converted));
  }
  return boost::json::value(std::move(out));
}

MaybeValue LaxDict(const FieldType& type, const boost::json::value& value) {
  const auto* object = value.if_object();
  if (!object || type.of.empty()) return object ? MaybeValue(value) : std::nullopt;
  boost::json::object out;
  for (const auto& [name, member] : *object) {
    auto converted = LaxValue(type.of[0], member);
    if (!converted) return std::nullopt;
    out[name] = std::move(*converted);
  }
  return boost::json::value(std::move(out));
}

MaybeValue LaxValue(const FieldType& type, const boost::json::value& value) {
  switch (type.kind) {
    case Kind::kStr:
      return value.is_string() ? MaybeValue(value) : std::nullopt;
    case Kind::kInt:
      return LaxInt(value);
    case Kind::kFloat:
      return LaxFloat(value);
    case Kind::kBool:
      return LaxBool(value);
    case Kind::kNone:
      return value.is_null() ? MaybeValue(value) : std::nullopt;
    case Kind::kAny:
      return value;
    case Kind::kLiteral: {
      const auto* text = value.if_string();
      return text ? ReadChoice(type.values, ViewOf(*text)) : AmongValues(type.values, value);
    }
    case Kind::kEnum:
      return EnumMember(type, value);
    case Kind::kList:
      return LaxList(type, value);
    case Kind::kDict:
      return LaxDict(type, value);
    case Kind::kUnion:
      return LaxUnion(type, value);
    case Kind::kObject: {
      auto checked = ConvertBySchema(type.schema, value);
      return checked ? MaybeValue(std::move(*checked)) : std::nullopt;
    }
    case Kind::kHistory:
      break;
  }
  return value.is_object() ? MaybeValue(value) : std::nullopt;
}

bool IsExactly(const FieldType& type, const boost::json::value& value) {
  switch (type.kind) {
    case Kind::kInt:
      return value.is_int64();
    case Kind::kFloat:
      return value.is_double();
    case Kind::kBool:
      return value.is_bool();
    case Kind::kLiteral:
    case Kind::kEnum:
      return AmongValues(type.values, value).has_value();
    case Kind::kList:
      return value.is_array() && std::ranges::all_of(value.get_array(), [&](const auto& item) {
               return type.of.empty() || IsExactly(type.of[0], item);
             });
    case Kind::kDict:
      return value.is_object() && std::ranges::all_of(value.get_object(), [&](const auto& member) {
               return type.of.empty() || IsExactly(type.of[0], member.value());
             });
    case Kind::kUnion:
      return std::ranges::any_of(type.of, [&](const FieldType& way) { return IsExactly(way, value); });
    default:
      return LaxValue(type, value).has_value();
  }
}

bool IsHistory(const boost::json::value& value) {
  const auto* object = value.if_object();
  const auto* turns = object ? object->if_contains("messages") : nullptr;
  return turns && turns->is_array() && object->size() == 1 &&
         std::ranges::all_of(turns->get_array(), [](const auto& turn) { return turn.is_object(); });
}

tl::unexpected<Error> CannotRead(const Field& field, std::string_view text, std::string_view why) {
  return tl::make_unexpected(
      Error{.code = ErrorCode::kParseFailed,
            .message = fmt::format("the field '{}' must be {}, and the answer has \"{}\"{}{}", field.name,
                                   NameOf(field.type), Shortened(text), why.empty() ? "" : ": ", why),
            .field = field.name});
}

Result<boost::json::value> ConvertOr(const Field& field, const boost::json::value& value, std::string_view text) {
  if (field.type.kind == Kind::kObject) {
    auto checked = ConvertBySchema(field.type.schema, value);
    if (!checked) return CannotRead(field, text, checked.error());
    return std::move(*checked);
  }
  auto converted = LaxValue(field.type, value);
  if (!converted) return CannotRead(field, text, "");
  return std::move(*converted);
}

// Where both text and None are possible, a text is text.
bool KeepsText(const FieldType& type) {
  return type.kind == Kind::kStr ||
         (type.AllowsNone() && std::ranges::find(type.of, FieldType::Str()) != type.of.end());
}

}  // namespace

Result<boost::json::value> ConvertText(const Field& field, std::string_view text) {
  if (KeepsText(field.type)) return boost::json::value(text);
  const bool chosen = field.type.kind == Kind::kLiteral || field.type.kind == Kind::kEnum;
  auto literal = chosen ? std::nullopt : ReadLiteral(text);
  return ConvertOr(field, literal ? *literal : boost::json::value(text), text);
}

Result<boost::json::value> ConvertValue(const Field& field, const boost::json::value& value) {
  if (const auto* text = value.if_string()) return ConvertText(field, ViewOf(*text));
  if (field.type.kind == Kind::kStr) return boost::json::value(PythonStr(value));
  return ConvertOr(field, value, PythonRepr(value));
}

Status CheckInput(const Field& field, const boost::json::value& value) {
  if (field.type.kind == Kind::kHistory && !IsHistory(value)) {
    return FailAt(field.name, Error::kNoPosition,
                  "the input '{}' must be a History, {{\"messages\": [{{field: value}}]}}, and is {}", field.name,
                  Shortened(PythonRepr(value)));
  }
  const auto* array = value.if_array();
  const bool texts = array && std::ranges::all_of(*array, [](const auto& item) { return item.is_string(); });
  if (field.type.kind == Kind::kStr && texts) return {};
  if (field.type.kind == Kind::kFloat && value.is_int64()) return {};
  if (IsExactly(field.type, value)) return {};
  return FailAt(field.name, Error::kNoPosition, "the input '{}' must be {}, and is {}", field.name, NameOf(field.type),
                Shortened(PythonRepr(value)));
}

}  // namespace inferflux::dspy
