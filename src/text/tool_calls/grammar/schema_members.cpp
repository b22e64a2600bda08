#include "text/tool_calls/grammar/schema_members.h"

#include <boost/json/array.hpp>
#include <string>

namespace inferflux::text {
namespace json = boost::json;

Result<std::vector<SchemaMember>> SchemaMembers(const json::object& schema, std::string_view at) {
  const json::object none;
  const json::value* properties = schema.if_contains("properties");
  const json::object& named = properties != nullptr && properties->is_object() ? properties->get_object() : none;
  std::vector<SchemaMember> members;
  for (const auto& [name, value] : named) members.push_back({.name = name, .schema = &value});
  const json::value* required = schema.if_contains("required");
  if (required == nullptr || !required->is_array()) return members;
  for (const json::value& name : required->get_array()) {
    const auto* found = name.is_string() ? named.find(name.get_string()) : named.end();
    if (found == named.end()) return Refused(std::string(at) + "/required", "names a member without a schema");
    members[static_cast<size_t>(found - named.begin())].required = true;
  }
  return members;
}

}  // namespace inferflux::text
