// Python's string literals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferflux::text {

// The content between the quotes, with escapes resolved. As in Python, an unknown escape is text. None if one is not a
// character.
std::optional<std::string> PythonString(std::string_view content);

}  // namespace inferflux::text
