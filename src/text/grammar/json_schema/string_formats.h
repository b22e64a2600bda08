// The formats of JSON Schema that strings can be constrained to.
#pragma once

#include <string>
#include <string_view>

namespace inferflux::text {

struct StringFormat {
  bool known = false;
  std::string pattern = {};  // a regular expression for the whole text; empty: the format constrains nothing
};

// An unsupported format that JSON Schema defines must be refused; any other format is an annotation. Some patterns
// cover only a part of a format: dates of the years 1000 to 9999, IPv6 addresses without "::".
StringFormat FindFormat(std::string_view format);
// All supported formats, for messages.
std::string_view KnownFormats();

}  // namespace inferflux::text
