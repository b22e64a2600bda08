// Unique names for replies and tool calls.
#pragma once

#include <string>
#include <string_view>

namespace inferflux::server {

// `prefix` and 24 random hexadecimal digits.
std::string UniqueId(std::string_view prefix);

}  // namespace inferflux::server
