// Names for replies and tool calls that never come twice.
#pragma once

#include <string>
#include <string_view>

namespace inferflux::server {

// `prefix` and 24 random hexadecimal digits.
std::string UniqueId(std::string_view prefix);

}  // namespace inferflux::server
