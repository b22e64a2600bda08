// The `attribute` argument of filters: "a.b.0", or an index.
#pragma once

#include <optional>
#include <vector>

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

class AttributeGetter {
 public:
  // `attribute` null or none: the item itself. If `fallback` is not null, it replaces undefined values.
  AttributeGetter(Runtime& rt, const Value* attribute, const Value* fallback = nullptr);

  Value Get(Runtime& rt, Value item) const;

 private:
  std::vector<Value> parts_;
  std::optional<Value> fallback_;
};

// "a,b.c": one getter for each.
std::vector<AttributeGetter> MakeGetters(Runtime& rt, const Value* attribute);

// The key by which sorting and comparing filters compare: a str in lower case unless `case_sensitive`.
Value FoldCase(Runtime& rt, const Value& value, bool case_sensitive);

}  // namespace inferflux::text::jinja
