// JSON schemas that hold together (allOf, $ref beside other keywords, anyOf beside others), as one schema.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"

namespace inferflux::text {

// A schema that what both allow, and nothing else, is valid under; annotations are left out. kUnsupported names the
// keyword and the path where that cannot be written as one schema. `path`: of both, for messages.
Result<boost::json::object> MergeSchemas(const boost::json::object& a, const boost::json::object& b,
                                         const std::string& path);

}  // namespace inferflux::text
