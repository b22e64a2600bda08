// Attributes, items and slices, with the sandbox's rules.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// value.name: first an attribute or method, then an item. Undefined if there is neither.
Value GetAttribute(Runtime& rt, const Value& value, std::string_view name);
// As GetAttribute, without the items.
Value GetOwnAttribute(Runtime& rt, const Value& value, std::string_view name);
// value[key]: first an item, then an attribute.
Value GetItem(Runtime& rt, const Value& value, const Value& key);
// value[start:stop:step]; absent bounds are none.
Value GetSlice(Runtime& rt, const Value& value, const Value& start, const Value& stop, const Value& step);

// Python's slice.indices(length).
struct SliceBounds {
  int64_t start;
  int64_t stop;
  int64_t step;
  size_t count;
};
SliceBounds ResolveSlice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step, size_t length);

}  // namespace inferflux::text::jinja
