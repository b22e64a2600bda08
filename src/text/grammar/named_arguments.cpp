#include "text/grammar/named_arguments.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "text/grammar/json_schema/schema_keywords.h"
#include "text/tool_calls/argument_schema.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr const char* kDefinitions[] = {"$defs", "definitions"};

auto Refused(std::string_view at, std::string_view why) { return Fail(ErrorCode::kUnsupported, "at {}: {}", at, why); }

bool IsKnown(std::string_view keyword, const json::value& value) {
  if (keyword == "type") return value == "object";
  return keyword == "properties" || keyword == "required" || keyword == "additionalProperties" ||
         std::ranges::find(kDefinitions, keyword) != std::end(kDefinitions) || IsAnnotation(keyword);
}

json::value WithDefinitions(const json::value& schema, const json::object& root) {
  json::value out = schema;
  if (!out.is_object()) return out;
  for (const char* key : kDefinitions) {
    if (const json::value* found = root.if_contains(key)) out.get_object()[key] = *found;
  }
  return out;
}

}  // namespace

Result<std::vector<NamedArgument>> NamedArguments(const json::value& schema) {
  if (!schema.is_object()) return Fail(ErrorCode::kInvalidArgument, "at #: must be an object");
  const json::object& root = schema.get_object();
  for (const auto& [keyword, value] : root) {
    if (!IsKnown(keyword, value)) {
      return Refused("#/" + std::string(keyword), "arguments that stand one by one cannot be held to it");
    }
  }
  const json::object none;
  const json::value* properties = root.if_contains("properties");
  const json::object& named = properties != nullptr && properties->is_object() ? properties->get_object() : none;
  const json::value* list = root.if_contains("required");
  const json::array required = list != nullptr && list->is_array() ? list->get_array() : json::array();
  for (const json::value& name : required) {
    if (!name.is_string() || !named.contains(name.get_string())) {
      return Refused("#/required", "names an argument without a schema");
    }
  }
  std::vector<NamedArgument> out;
  for (const auto& [name, ignored] : named) {
    out.push_back({.name = name,
                   .at = "#/properties/" + std::string(name),
                   .schema = WithDefinitions(*SchemaOfArgument(schema, name), root),
                   .required = std::ranges::find(required, json::value(name)) != required.end()});
  }
  return out;
}

}  // namespace inferflux::text
