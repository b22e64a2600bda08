// Iteration, as Python's iter() and reversed().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "text/jinja/value/object.h"

namespace inferflux::text::jinja {

// Raises a TypeError for what is not iterable.
std::unique_ptr<Iterator> Iterate(Runtime& rt, const Value& value);
bool IsIterable(Runtime& rt, const Value& value);
// Null if Python has no reversed() for it.
std::unique_ptr<Iterator> IterateReversed(Runtime& rt, const Value& value);
// list(value), as a plain vector.
std::vector<Value> Collect(Runtime& rt, const Value& value);
// len(value); no value if it has none.
std::optional<size_t> Length(Runtime& rt, const Value& value);

// An iterator over vector items or over whatever `next` yields.
std::unique_ptr<Iterator> IterateItems(std::vector<Value> items);
class FunctionIterator : public Iterator {
 public:
  explicit FunctionIterator(std::function<std::optional<Value>(Runtime&)> next) : next_(std::move(next)) {}
  std::optional<Value> Next(Runtime& rt) override { return next_(rt); }

 private:
  std::function<std::optional<Value>(Runtime&)> next_;
};

// A generator object: yields once, lazily. `depth` is the nesting of its content (kMaxNesting).
Value MakeGenerator(Runtime& rt, int depth, std::unique_ptr<Iterator> iterator);
Value MakeGenerator(Runtime& rt, int depth, std::function<std::optional<Value>(Runtime&)> next);

}  // namespace inferflux::text::jinja
