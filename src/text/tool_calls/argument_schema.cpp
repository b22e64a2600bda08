#include "text/tool_calls/argument_schema.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr int kMaxAlternativeDepth = 8;  // limits alternatives within alternatives, and references to references

// "integer" and "number" are alike: the tool itself must check bounds and fractions.
bool SameType(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view name) { return name == "integer" ? std::string_view("number") : name; };
  return plain(a) == plain(b);
}

bool Allows(const json::value* schema, std::string_view type, int depth) {
  if (schema == nullptr || !schema->is_object() || depth > kMaxAlternativeDepth) return true;
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

const json::value* Referred(const json::value& parameters, const json::value* schema) {
  for (int depth = 0; schema != nullptr && schema->is_object() && depth < kMaxAlternativeDepth; ++depth) {
    const json::value* reference = schema->get_object().if_contains("$ref");
    if (reference == nullptr || !reference->is_string() || !reference->get_string().starts_with("#/")) break;
    boost::system::error_code error;
    const json::value* target = parameters.find_pointer(std::string_view(reference->get_string()).substr(1), error);
    if (target == nullptr) break;
    schema = target;
  }
  return schema;
}

const json::value* SchemaOfArgument(const json::value& parameters, std::string_view argument) {
  const json::object* root = parameters.if_object();
  const json::value* properties = root == nullptr ? nullptr : root->if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return nullptr;
  return Referred(parameters, properties->get_object().if_contains(argument));
}

const json::value* BesideNull(const json::value& parameters, const json::value* schema) {
  schema = Referred(parameters, schema);
  const json::object* keywords = schema == nullptr ? nullptr : schema->if_object();
  const json::value* ways = keywords == nullptr ? nullptr : keywords->if_contains("anyOf");
  if (ways == nullptr || !ways->is_array()) return schema;
  const json::value* other = nullptr;
  for (const json::value& way : ways->get_array()) {
    if (way == json::value{{"type", "null"}}) continue;
    if (other != nullptr) return schema;
    other = &way;
  }
  return Referred(parameters, other);
}

const json::value* SchemaOfMember(const json::value& parameters, const json::value* schema, std::string_view name) {
  schema = BesideNull(parameters, schema);
  if (schema == nullptr || !schema->is_object()) return nullptr;
  const json::value* properties = schema->get_object().if_contains("properties");
  const json::value* named =
      properties == nullptr || !properties->is_object() ? nullptr : properties->get_object().if_contains(name);
  return Referred(parameters, named != nullptr ? named : schema->get_object().if_contains("additionalProperties"));
}

const json::value* SchemaOfItems(const json::value& parameters, const json::value* schema) {
  schema = BesideNull(parameters, schema);
  return schema == nullptr || !schema->is_object() ? nullptr
                                                   : Referred(parameters, schema->get_object().if_contains("items"));
}

}  // namespace inferflux::text
