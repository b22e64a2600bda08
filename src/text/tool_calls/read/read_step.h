// The result type of parsers of text that is still arriving.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferflux::text {

inline constexpr size_t kMaxReadDepth = 32;  // of values in values, as in JSON

enum class ReadStep : uint8_t {
  kDone,    // found
  kWait,    // the text ends inside it
  kMisfit,  // it cannot match any more
};

}  // namespace inferflux::text
