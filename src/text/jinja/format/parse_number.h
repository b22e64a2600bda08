// int("...") and float("...") as Python reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace inferflux::text::jinja {

// No value where Python raises a ValueError. Raises if the number does not fit 64 bits. base 0: by its prefix.
std::optional<int64_t> ParseInt(std::string_view text, int64_t base);
std::optional<double> ParseFloat(std::string_view text);

}  // namespace inferflux::text::jinja
