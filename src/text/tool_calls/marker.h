// Markers of ToolCallSyntaxes in text that is still arriving. White space may precede a marker. In a marker, a line end
// matches any white space, or none, and '*' matches a word: letters, digits, '_' and '-'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inferflux::text {

struct MarkerMatch {
  enum class Kind : uint8_t {
    kNo,
    kPartly,  // the text ends inside it
    kWhole,
  };
  Kind kind = Kind::kNo;
  size_t begin = 0;  // of the marker, after the space before it
  size_t end = 0;    // of kWhole

  bool whole() const { return kind == Kind::kWhole; }
  bool partly() const { return kind == Kind::kPartly; }
};

inline bool IsMarkerSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
size_t SkipSpace(std::string_view text, size_t at);
std::string_view TrimEnd(std::string_view text);

// Whether `text` continues with the marker from `at`.
MarkerMatch MatchMarker(std::string_view text, size_t at, std::string_view marker);
// The first position of the marker from `at`, or of a possible beginning of it at the text's end. kNo is at the end.
MarkerMatch FindMarker(std::string_view text, size_t at, std::string_view marker);

}  // namespace inferflux::text
