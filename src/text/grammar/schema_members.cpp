#include "text/grammar/schema_members.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>

namespace inferflux::text {
namespace json = boost::json;

Result<std::vector<SchemaMember>> SchemaMembers(const json::object& schema, std::string_view at) {
  std::vector<SchemaMember> members;
  if (const json::value* named = schema.if_contains("properties"); named != nullptr && named->is_object()) {
    for (const auto& [name, value] : named->get_object()) members.push_back({.name = name, .schema = &value});
  }
  const json::value* required = schema.if_contains("required");
  if (required == nullptr || !required->is_array()) return members;
  for (const json::value& name : required->get_array()) {
    const auto member = name.is_string()
                            ? std::ranges::find(members, std::string_view(name.get_string()), &SchemaMember::name)
                            : members.end();
    if (member == members.end()) {
      return Refused(std::string(at) + "/required", "names a member without a schema");
    }
    member->required = true;
  }
  return members;
}

}  // namespace inferflux::text
