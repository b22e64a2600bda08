// The types of a tool's arguments according to its schema; text between tags does not show them.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

namespace inferflux::text {

// JSON Schema's name of a value's type.
std::string_view TypeName(const boost::json::value& value);

// Whether a value of this type is allowed. A schema without types, or no schema at all, allows all.
bool AllowsType(const boost::json::value* schema, std::string_view type);

// The schema of one argument, from a tool's parameters, with references resolved; null if there is none.
const boost::json::value* SchemaOfArgument(const boost::json::value& parameters, std::string_view argument);

// The schema within `parameters` that this one refers to, or the schema itself if it is not a reference.
const boost::json::value* Referred(const boost::json::value& parameters, const boost::json::value* schema);

// The same for the one alternative beside null, if there is exactly one.
const boost::json::value* BesideNull(const boost::json::value& parameters, const boost::json::value* schema);

// The schema of a member, and that of a list's items. Null if there is none.
const boost::json::value* SchemaOfMember(const boost::json::value& parameters, const boost::json::value* schema,
                                         std::string_view name);
const boost::json::value* SchemaOfItems(const boost::json::value& parameters, const boost::json::value* schema);

}  // namespace inferflux::text
