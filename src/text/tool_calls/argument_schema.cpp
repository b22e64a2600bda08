#include "text/tool_calls/argument_schema.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr int kMaxDepth = 8;  // of alternatives within alternatives, and of references to references

// "integer" and "number" alike: a bound or a fraction is for the tool to check.
bool SameType(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view name) { return name == "integer" ? std::string_view("number") : name; };
  return plain(a) == plain(b);
}

bool Allows(const json::value* schema, std::string_view type, int depth) {
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

}  // namespace

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

bool AllowsType(const json::value* schema, std::string_view type) { return Allows(schema, type, 0); }

const json::value* SchemaOfArgument(const json::value& parameters, std::string_view argument) {
  const json::object* root = parameters.if_object();
  const json::value* properties = root == nullptr ? nullptr : root->if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return nullptr;
  const json::value* schema = properties->get_object().if_contains(argument);
  for (int depth = 0; schema != nullptr && schema->is_object() && depth < kMaxDepth; ++depth) {
    const json::value* reference = schema->get_object().if_contains("$ref");
    if (reference == nullptr || !reference->is_string() || !reference->get_string().starts_with("#/")) break;
    boost::system::error_code error;
    const json::value* target = parameters.find_pointer(std::string_view(reference->get_string()).substr(1), error);
    if (target == nullptr) break;
    schema = target;
  }
  return schema;
}

}  // namespace inferflux::text
