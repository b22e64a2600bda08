// Checks values against a JSON Schema: the keywords that pydantic writes for objects. Answers are small, and an error
// tells where a value is wrong.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <tl/expected.hpp>

#include "dspy/error.h"

namespace inferflux::dspy {

// kInvalidConfig names a keyword that is not honoured and where it is: "#/properties/age/pattern".
Status CheckSchema(const boost::json::object& schema);

// What `$ref` refers to, in `root`; null where nothing does.
const boost::json::object* FindReference(const boost::json::object& root, std::string_view reference);

// The value with whole floats as integers where the schema wants these, and with defaults of absent members; else what
// is wrong, and where ("at $.age: ...").
tl::expected<boost::json::value, std::string> ConvertBySchema(const boost::json::object& schema,
                                                              const boost::json::value& value);

}  // namespace inferflux::dspy
