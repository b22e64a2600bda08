#include "text/tool_calls/grammar/named_arguments.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "text/grammar/json_schema/schema_keywords.h"
#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/grammar/schema_members.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr const char* kDefinitions[] = {"$defs", "definitions"};

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
      return Refused("#/" + std::string(keyword), "arguments that are written one by one cannot be constrained to it");
    }
  }
  auto members = SchemaMembers(root, "#");
  if (!members) return Forward(members);
  std::vector<NamedArgument> out;
  for (const SchemaMember& member : *members) {
    out.push_back({.name = std::string(member.name),
                   .at = "#/properties/" + std::string(member.name),
                   .schema = WithDefinitions(*SchemaOfArgument(schema, member.name), root),
                   .required = member.required});
  }
  return out;
}

}  // namespace inferflux::text
