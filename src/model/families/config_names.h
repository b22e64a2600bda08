// The names that config.json has for GGUF's keys: errors about a directory speak of its own keys.
#pragma once

#include <string_view>

#include "base/result.h"

namespace inferflux::model {

// The error with config.json's keys in place of "ARCHITECTURE.attention.head_count" and the like.
Error InConfigJson(Error error, std::string_view architecture);

}  // namespace inferflux::model
