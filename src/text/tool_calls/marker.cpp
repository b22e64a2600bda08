#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace {

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// The same without a space before it.
MarkerMatch MatchHere(std::string_view text, size_t begin, std::string_view marker) {
  using Kind = MarkerMatch::Kind;
  size_t at = begin;
  for (const char c : marker) {
    if (c == '\n') {
      at = SkipSpace(text, at);
      continue;
    }
    if (at == text.size()) return {Kind::kPartly, begin, 0};
    if (c == '*') {
      const size_t word = at;
      while (at < text.size() && IsWord(text[at])) ++at;
      if (at == text.size()) return {Kind::kPartly, begin, 0};
      if (at == word) return {};
    } else if (text[at++] != c) {
      return {};
    }
  }
  return {Kind::kWhole, begin, at};
}

}  // namespace

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsMarkerSpace(text[at])) ++at;
  return at;
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && IsMarkerSpace(text.back())) text.remove_suffix(1);
  return text;
}

MarkerMatch MatchMarker(std::string_view text, size_t at, std::string_view marker) {
  return MatchHere(text, marker.empty() ? at : SkipSpace(text, at), marker);
}

MarkerMatch FindMarker(std::string_view text, size_t at, std::string_view marker) {
  const char first = marker[SkipSpace(marker, 0)];
  for (at = text.find(first, at); at < text.size(); at = text.find(first, at + 1)) {
    const MarkerMatch match = MatchHere(text, at, marker.substr(SkipSpace(marker, 0)));
    if (match.kind != MarkerMatch::Kind::kNo) return match;
  }
  return {MarkerMatch::Kind::kNo, text.size(), text.size()};
}

}  // namespace inferflux::text
