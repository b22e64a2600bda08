// Values as stored in GGUF files: little-endian, each text after its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inferflux::formats {

template <class T>
void AppendBytes(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

inline void AppendText(std::string& out, std::string_view text) {
  AppendBytes<uint64_t>(out, text.size());
  out.append(text);
}

}  // namespace inferflux::formats
