// The arguments that a tool's schema names, for forms that write each of them by itself.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::text {

struct NamedArgument {
  std::string name;
  std::string at;             // where the schema says so, for messages
  boost::json::value schema;  // of its value, with the definitions that references in it lead to
  bool required = false;
};

// kUnsupported names what the schema asks for beyond that of its arguments.
Result<std::vector<NamedArgument>> NamedArguments(const boost::json::value& schema);

}  // namespace inferflux::text
