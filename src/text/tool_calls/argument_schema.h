// What a tool's schema says of the types of its arguments, which text between tags does not show.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

namespace inferflux::text {

// JSON Schema's name of a value's type.
std::string_view TypeName(const boost::json::value& value);

// Whether a value of this type may stand there; a schema that says nothing of types, or none at all, allows all.
bool AllowsType(const boost::json::value* schema, std::string_view type);

// Of a tool's parameters, the schema of one argument, its references followed; null where there is none.
const boost::json::value* SchemaOfArgument(const boost::json::value& parameters, std::string_view argument);

// The schema within `parameters` that this one refers to, itself where it is no reference.
const boost::json::value* Referred(const boost::json::value& parameters, const boost::json::value* schema);

// The same of the one alternative beside null, where there is just one.
const boost::json::value* BesideNull(const boost::json::value& parameters, const boost::json::value* schema);

// Of such a schema that of a member, and that of a list's items. Null where there is none.
const boost::json::value* SchemaOfMember(const boost::json::value& parameters, const boost::json::value* schema,
                                         std::string_view name);
const boost::json::value* SchemaOfItems(const boost::json::value& parameters, const boost::json::value* schema);

}  // namespace inferflux::text
