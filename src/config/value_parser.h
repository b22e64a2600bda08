// Turns a key's text into its value, within the range that the schema declares.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "config/schema.h"

namespace inferflux::config {

// The value of a number, a size or a switch (0 or 1); 0 for a text or a device. `origin` says where it was set, for
// errors.
Result<int64_t> ParseValue(const Key& key, std::string_view text, std::string_view origin);

}  // namespace inferflux::config
