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

}  // namespace inferflux::text
