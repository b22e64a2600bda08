// Files with one JSON document a line, and JSON as Python writes it.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace inferflux::apps {

// The lines of a file, which may be compressed by gzip.
Result<std::vector<std::string>> ReadLines(const std::string& path);

// The text that Python's `json.dumps(value, ensure_ascii=False)` makes: ", " and ": ", and "1.0" for a float.
std::string PythonJson(const boost::json::value& value);

}  // namespace inferflux::apps
