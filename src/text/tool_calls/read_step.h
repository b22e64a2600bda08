// What the readers of text that is still coming share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferflux::text {

inline constexpr size_t kMaxReadDepth = 32;  // of values in values, as JSON is read

enum class ReadStep : uint8_t {
  kDone,    // what was looked for is there
  kWait,    // the text ends within it
  kMisfit,  // it cannot become what was looked for
};

}  // namespace inferflux::text
