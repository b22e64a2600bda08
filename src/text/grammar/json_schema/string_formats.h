// The formats of JSON Schema that strings can be held to.
#pragma once

#include <string>
#include <string_view>

namespace inferflux::text {

struct StringFormat {
  bool known = false;
  std::string pattern = {};  // a regular expression for the whole text; empty: the format holds it to nothing
};

// Of the formats that JSON Schema defines, those that are not known here must be refused; any other one is an
// annotation. Of some formats the pattern is a part: dates of the years 1000 to 9999, IPv6 addresses without "::".
StringFormat FindFormat(std::string_view format);
// All that can be held to, for messages.
std::string_view KnownFormats();

}  // namespace inferflux::text
