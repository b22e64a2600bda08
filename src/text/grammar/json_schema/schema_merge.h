// Merges JSON schemas that apply together (allOf, $ref beside other keywords, anyOf beside others) into one schema.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"

namespace inferflux::text {

// A schema for exactly the documents that are valid under both; annotations are dropped. kUnsupported names the keyword
// and the path if no single schema expresses it. `path`: of both, for messages.
Result<boost::json::object> MergeSchemas(const boost::json::object& a, const boost::json::object& b,
                                         const std::string& path);

}  // namespace inferflux::text
