// The arguments that a tool's schema names, for formats that write each of them separately.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::text {

struct NamedArgument {
  std::string name;
  std::string at;             // its place in the schema, for messages
  boost::json::value schema;  // the schema of its value, with the definitions to which its references lead
  bool required = false;
};

// kUnsupported names what the schema requires beyond its arguments.
Result<std::vector<NamedArgument>> NamedArguments(const boost::json::value& schema);

}  // namespace inferflux::text
