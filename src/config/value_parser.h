// Turns a key's text into its value, within the range that the schema declares.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "config/schema.h"

namespace inferflux::config {

// The number that the text of a number, size or switch (0 or 1) stands for; 0 for a text. `origin` says where it was
// set.
Result<int64_t> ParseValue(const Key& key, std::string_view text, std::string_view origin);

}  // namespace inferflux::config
