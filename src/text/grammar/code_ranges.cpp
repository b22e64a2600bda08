#include "text/grammar/code_ranges.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr char32_t kLastCode = 0x10FFFF;
constexpr CodeRange kSurrogates = {0xD800, 0xDFFF};

// Both ends have `size` bytes. Splits until each position has one range.
void Split(CodeRange range, size_t size, FunctionRef<void(std::span<const ByteRange>)> take) {
  for (size_t i = 1; i < size; ++i) {
    const char32_t low = (char32_t{1} << (6 * i)) - 1;  // the bits of the last i bytes
    if ((range.first & ~low) == (range.last & ~low)) continue;
    if ((range.first & low) != 0) {
      Split({range.first, range.first | low}, size, take);
      return Split({(range.first | low) + 1, range.last}, size, take);
    }
    if ((range.last & low) != low) {
      Split({range.first, (range.last & ~low) - 1}, size, take);
      return Split({range.last & ~low, range.last}, size, take);
    }
  }
  std::string first, last;
  unicode::AppendUtf8(range.first, first);
  unicode::AppendUtf8(range.last, last);
  std::array<ByteRange, 4> bytes;
  for (size_t i = 0; i < size; ++i) bytes[i] = {static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i])};
  take(std::span(bytes).first(size));
}

}  // namespace

CodeRanges Normalise(std::span<const CodeRange> ranges) {
  CodeRanges sorted;
  for (CodeRange range : ranges) {
    range.last = std::min(range.last, kLastCode);
    if (range.first > range.last) continue;
    if (range.first < kSurrogates.first)
      sorted.push_back({range.first, std::min<char32_t>(range.last, kSurrogates.first - 1)});
    if (range.last > kSurrogates.last)
      sorted.push_back({std::max<char32_t>(range.first, kSurrogates.last + 1), range.last});
  }
  std::ranges::sort(sorted, {}, &CodeRange::first);
  CodeRanges out;
  for (const CodeRange& range : sorted) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

CodeRanges Complement(const CodeRanges& set) {
  CodeRanges gaps;
  char32_t next = 0;
  for (const CodeRange& range : set) {
    if (range.first > next) gaps.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCode) gaps.push_back({next, kLastCode});
  return Normalise(gaps);
}

CodeRanges Intersect(const CodeRanges& a, const CodeRanges& b) {
  CodeRanges out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const CodeRange both = {std::max(a[i].first, b[j].first), std::min(a[i].last, b[j].last)};
    if (both.first <= both.last) out.push_back(both);
    ++(a[i].last < b[j].last ? i : j);
  }
  return out;
}

void ForEachUtf8(const CodeRanges& set, FunctionRef<void(std::span<const ByteRange>)> take) {
  static constexpr CodeRange kOfSize[] = {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, kLastCode}};
  for (const CodeRange& range : set) {
    for (size_t size = 1; size <= 4; ++size) {
      const CodeRange part = {std::max(range.first, kOfSize[size - 1].first),
                              std::min(range.last, kOfSize[size - 1].last)};
      if (part.first <= part.last) Split(part, size, take);
    }
  }
}

}  // namespace inferflux::text
