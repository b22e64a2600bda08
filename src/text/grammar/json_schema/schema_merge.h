// JSON schemas that hold together (allOf, $ref beside other keywords, anyOf beside others), as one schema.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferflux::text {

// Whether the keyword says nothing about what is valid: "title", and any that no draft of JSON Schema knows.
bool IsAnnotation(std::string_view keyword);

// A schema that what both allow, and nothing else, is valid under; annotations are left out. kUnsupported names the
// keyword and the path where that cannot be written as one schema. `path`: of both, for messages.
Result<boost::json::object> MergeSchemas(const boost::json::object& a, const boost::json::object& b,
                                         const std::string& path);

}  // namespace inferflux::text
