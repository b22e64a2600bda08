// Python's string literals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferflux::text {

// What stands between the quotes, its escapes resolved; an unknown one is text, as in Python. None where one is no
// character.
std::optional<std::string> PythonString(std::string_view content);

}  // namespace inferflux::text
