// A look through a JSON text before its values are built: at names that an object has twice, and at the number of
// values, so that what is built has a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace inferflux {

// The values and names that a JSON text may have: each costs up to 72 bytes while it is built, so a text takes at most
// kMaxJsonMemoryFactor times its own size, and kFreeJsonValues beside that. Texts in use have far fewer: lists of
// token ids are the densest, with one value in five or six bytes.
inline constexpr size_t kJsonBytesPerValue = 4;
inline constexpr size_t kFreeJsonValues = 65'536;
inline constexpr size_t kMaxJsonMemoryFactor = 24;
constexpr size_t MostJsonValues(size_t bytes) { return kFreeJsonValues + bytes / kJsonBytesPerValue; }

struct JsonScan {
  // RFC 8259, section 4, leaves the meaning of an object with a repeated name open, and parsers differ: a proxy that
  // checks a request and the server that runs it would see different values.
  std::optional<std::string> repeated;  // the first such name
  bool too_many_values = false;
};

// Stops at the first fault, and where the text is not valid JSON. `max_depth` bounds the nesting.
JsonScan ScanJson(std::string_view json, size_t max_depth);

}  // namespace inferflux
