// Values as drivers write them, brought within bounds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace inferflux::hardware {

inline constexpr uint32_t kMostDevices = 1024;  // a driver's count beyond it is not believed

inline int64_t BoundedBytes(uint64_t bytes) {
  return static_cast<int64_t>(std::min<uint64_t>(bytes, std::numeric_limits<int64_t>::max()));
}

// The text in a buffer, whether or not a zero ends it.
template <size_t kSize>
std::string TextIn(const char (&buffer)[kSize]) {
  return std::string(buffer, ::strnlen(buffer, kSize));
}

}  // namespace inferflux::hardware
