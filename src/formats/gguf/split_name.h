// The names of the files of a split model, "NAME-00001-of-00003.gguf", as llama.cpp's gguf-split gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferflux::formats {

constexpr uint32_t kMaxSplits = 99999;  // five digits in the name

struct SplitName {
  std::string base;  // not empty
  uint32_t part;     // from 1
  uint32_t parts;
};

// Of a file's name without its folder; nothing if it is not that of a part.
std::optional<SplitName> ParseSplitName(std::string_view file);

// What follows the base: "-00001-of-00003.gguf". `part` counts from 1.
std::string SplitSuffix(uint32_t part, uint32_t parts);

}  // namespace inferflux::formats
