// Functions that str methods and string filters share.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value/python_characters.h"
#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

enum class Side { kLeft, kRight, kBoth };

// The byte range that remains after stripping characters of `chars`, or whitespace if it is null.
std::pair<size_t, size_t> StripBounds(std::string_view text, const std::string_view* chars, Side side);
Value Strip(Runtime& rt, const Str& str, const Str* chars, Side side);
// The first character mapped by `first`, the others by `rest`.
Value MapCase(Runtime& rt, const Str& str, CaseMap first, CaseMap rest);
// At most `count` replacements; all if it is negative.
Value Replace(Runtime& rt, const Str& str, const Str& old, const Str& by, int64_t count);
// Pads to `width` characters: before, after, or on both sides as str.center does.
Value Pad(Runtime& rt, const Str& str, int64_t width, const Str* fill, Side text_side);
// Byte ranges of the whitespace-separated words, at most `max_splits` + 1 unless that is negative.
std::vector<std::pair<size_t, size_t>> SplitWords(std::string_view text, int64_t max_splits);
// Byte ranges of the lines without their ends (with them if `keep_ends`).
std::vector<std::pair<size_t, size_t>> SplitLines(std::string_view text, bool keep_ends);
// separator.join(items); items must be str.
Value Join(Runtime& rt, const Str& separator, const std::vector<Value>& items);

}  // namespace inferflux::text::jinja
