// The end of a text that is still arriving.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inferflux::text {

// The bytes of a character that the text has only the beginning of, at its end.
inline size_t UnfinishedBytes(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(3, text.size()); ++bytes) {
    const auto byte = static_cast<uint8_t>(text[text.size() - bytes]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return bytes < whole ? bytes : 0;
  }
  return 0;
}

}  // namespace inferflux::text
