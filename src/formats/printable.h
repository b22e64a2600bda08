// Makes names from files fit for an error message: short, on one line, without control bytes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace inferflux::formats {

inline std::string Printable(std::string_view name) {
  constexpr size_t kLimit = 96;
  std::string text;
  for (const char c : name.substr(0, kLimit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text.push_back(c);
    }
  }
  if (name.size() > kLimit) text += fmt::format("... ({} bytes)", name.size());
  return text;
}

}  // namespace inferflux::formats
