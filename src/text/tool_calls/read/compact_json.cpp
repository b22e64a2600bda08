#include "text/tool_calls/read/compact_json.h"

#include <cstdint>
#include <string_view>

#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace {

// Of a UTF-8 character with this first byte.
size_t CharacterBytes(char first) {
  const auto byte = static_cast<uint8_t>(first);
  if (byte >= 0xF0) return 4;
  if (byte >= 0xE0) return 3;
  return byte >= 0xC0 ? 2 : 1;
}

// \uD800 to \uDBFF: the first half of a pair.
bool IsHighSurrogate(std::string_view escape) {
  return (escape[2] == 'd' || escape[2] == 'D') && std::string_view("89abAB").find(escape[3]) != std::string_view::npos;
}

// Whether `part` of a string is a whole character or escape. The string is valid JSON.
bool IsWhole(std::string_view part) {
  if (part[0] != '\\') return part.size() >= CharacterBytes(part[0]);
  if (part.size() < 2 || part[1] != 'u') return part.size() >= 2;
  return part.size() >= 6 && (part.size() >= 12 || !IsHighSurrogate(part));
}

}  // namespace

void CompactJson::Push(char c) {
  if (!in_string_) {
    if (IsMarkerSpace(c)) return;
    in_string_ = c == '"';
    ready_ += c;
    return;
  }
  held_ += c;
  if (!IsWhole(held_)) return;
  if (held_ == "\"") in_string_ = false;
  ready_ += std::exchange(held_, {});
}

}  // namespace inferflux::text
