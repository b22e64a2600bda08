#include "text/tool_calls/call_object.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr int kMaxDepth = 8;  // of alternatives within alternatives

std::string_view TypeName(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "boolean";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
    default:
      return value.is_double() ? "number" : "integer";
  }
}

// "integer" and "number" alike: a bound or a fraction is for the tool to check.
bool SameType(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view name) { return name == "integer" ? std::string_view("number") : name; };
  return plain(a) == plain(b);
}

// Whether a schema says that a value of this type may stand there; one that says nothing of types allows all.
bool Allows(const json::value* schema, std::string_view type, int depth = 0) {
  if (schema == nullptr || !schema->is_object() || depth > kMaxDepth) return true;
  const json::object& keywords = schema->get_object();
  if (const json::value* types = keywords.if_contains("type")) {
    if (types->is_string()) return SameType(types->get_string(), type);
    if (!types->is_array()) return true;
    for (const json::value& one : types->get_array()) {
      if (one.is_string() && SameType(one.get_string(), type)) return true;
    }
    return false;
  }
  if (const json::value* constant = keywords.if_contains("const")) return SameType(TypeName(*constant), type);
  for (const char* keyword : {"enum", "anyOf", "oneOf"}) {
    const json::value* list = keywords.if_contains(keyword);
    if (list == nullptr || !list->is_array()) continue;
    for (const json::value& one : list->get_array()) {
      if (*keyword == 'e' ? SameType(TypeName(one), type) : Allows(&one, type, depth + 1)) return true;
    }
    return false;
  }
  return true;
}

// Some templates write these values as Python prints them, and their models do too.
std::string_view FromPython(std::string_view text) {
  if (text == "True") return "true";
  if (text == "False") return "false";
  return text == "None" ? "null" : text;
}

}  // namespace

std::optional<FoundToolCall> CallOf(const ToolCallForm& form, const json::object& object) {
  if (form.name_key.empty()) {
    if (object.size() != 1 || !object.begin()->value().is_object()) return std::nullopt;
    return FoundToolCall{std::string(object.begin()->key()), json::serialize(object.begin()->value())};
  }
  const json::value* name = object.if_contains(form.name_key);
  const json::value* arguments = object.if_contains(form.arguments_key);
  if (name == nullptr || !name->is_string() || name->get_string().empty()) return std::nullopt;
  if (arguments != nullptr && !arguments->is_object()) return std::nullopt;
  return FoundToolCall{std::string(name->get_string()), arguments == nullptr ? "{}" : json::serialize(*arguments)};
}

json::value TaggedValue(std::string_view text, const json::value* schema) {
  boost::system::error_code error;
  json::value value = json::parse(FromPython(text), error);
  if (error || value.is_string() || !Allows(schema, TypeName(value))) return json::value(text);
  return value;
}

}  // namespace inferflux::text
