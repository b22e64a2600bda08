// Searches texts from a request in linear time, whatever they contain.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace inferflux::text::jinja {

// Up to this size, comparing at every position is fast enough and needs no table.
constexpr size_t kShortNeedle = 64;

// The number of items of [begin, end) before the first occurrence of the needle; npos if there is none. Knuth, Morris
// and Pratt (1977).
template <class Iterator>
size_t SearchLinear(Iterator begin, Iterator end, Iterator needle, size_t size) {
  // After a mismatch at needle[i], needle[0, fallback[i]) still matches what was read.
  std::vector<size_t> fallback(size + 1, 0);
  for (size_t i = 1, matched = 0; i < size; ++i) {
    while (matched > 0 && needle[i] != needle[matched]) matched = fallback[matched];
    if (needle[i] == needle[matched]) ++matched;
    fallback[i + 1] = matched;
  }
  size_t matched = 0;
  for (Iterator at = begin; at != end; ++at) {
    while (matched > 0 && *at != needle[matched]) matched = fallback[matched];
    if (*at == needle[matched]) ++matched;
    if (matched == size) return static_cast<size_t>(at - begin) + 1 - size;
  }
  return std::string_view::npos;
}

// text.find(needle, from)
inline size_t FindText(std::string_view text, std::string_view needle, size_t from = 0) {
  if (needle.size() <= kShortNeedle || from > text.size()) return text.find(needle, from);
  const size_t found = SearchLinear(text.begin() + from, text.end(), needle.begin(), needle.size());
  return found == std::string_view::npos ? found : from + found;
}

// text.rfind(needle)
inline size_t RFindText(std::string_view text, std::string_view needle) {
  if (needle.size() <= kShortNeedle) return text.rfind(needle);
  const size_t found = SearchLinear(text.rbegin(), text.rend(), needle.rbegin(), needle.size());
  return found == std::string_view::npos ? found : text.size() - found - needle.size();
}

}  // namespace inferflux::text::jinja
