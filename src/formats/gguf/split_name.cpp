#include "formats/gguf/split_name.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace inferflux::formats {
namespace {

// 0 if these are no digits; no part and no count is 0.
uint32_t FiveDigits(std::string_view digits) {
  uint32_t out = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, out);
  return read.ec == std::errc() && read.ptr == end ? out : 0;
}

}  // namespace

std::optional<SplitName> ParseSplitName(std::string_view file) {
  constexpr size_t kTail = std::string_view("-00001-of-00003.gguf").size();
  if (file.size() <= kTail) return std::nullopt;
  const std::string_view tail = file.substr(file.size() - kTail);
  const uint32_t part = FiveDigits(tail.substr(1, 5)), parts = FiveDigits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf") return std::nullopt;
  if (part == 0 || part > parts) return std::nullopt;
  return SplitName{std::string(file.substr(0, file.size() - kTail)), part, parts};
}

std::string SplitSuffix(uint32_t part, uint32_t parts) { return fmt::format("-{:05}-of-{:05}.gguf", part, parts); }

}  // namespace inferflux::formats
