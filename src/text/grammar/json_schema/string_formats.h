// The formats of JSON Schema that strings can be constrained to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inferflux::text {

// Expressions for the whole text. Some patterns cover only a part of a format: dates of the years 1000 to 9999.
struct StringFormat {
  bool known = false;
  std::string pattern = {};        // empty: the format constrains nothing
  std::string short_pattern = {};  // has fewer states, and is right for texts of up to kMostOfShortFormat characters
  std::string form = {};           // matches every text of the format, and others
};
inline constexpr uint32_t kMostOfShortFormat = 64;

// An unsupported format that JSON Schema defines must be refused; any other format is an annotation.
StringFormat FindFormat(std::string_view format);
// All supported formats, for messages.
std::string_view KnownFormats();

}  // namespace inferflux::text
