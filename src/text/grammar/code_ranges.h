// Sets of characters as ranges of code points, and their UTF-8 forms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"

namespace inferflux::text {

struct CodeRange {
  char32_t first = 0;
  char32_t last = 0;
  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

// As a set: ascending, disjoint, and scalar values only (no surrogates).
using CodeRanges = std::vector<CodeRange>;

// The set for any ranges, in any order. Ranges that end before they begin are empty.
CodeRanges Normalise(std::span<const CodeRange> ranges);
// All scalar values that are not in the set.
CodeRanges Complement(const CodeRanges& set);
CodeRanges Intersect(const CodeRanges& a, const CodeRanges& b);

struct ByteRange {
  uint8_t first = 0;
  uint8_t last = 0;
};

// Passes on sequences of byte ranges whose strings are exactly the UTF-8 forms of the set's characters (after R. Cox,
// "Regular expression matching in the wild", 2010).
void ForEachUtf8(const CodeRanges& set, FunctionRef<void(std::span<const ByteRange>)> take);

}  // namespace inferflux::text
