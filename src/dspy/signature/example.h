// Values by field name, and examples of a task.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::dspy {

// In the order in which they were added. Erase with stable_erase.
using Values = boost::json::object;

// A labelled example, or a demonstration in a prompt. Which of its values are inputs is marked by name; the others are
// outputs (labels).
class Example {
 public:
  Example() = default;
  explicit Example(Values values) : values_(std::move(values)) {}

  // A copy whose inputs are these.
  Example WithInputs(std::vector<std::string> names) const;

  const Values& values() const { return values_; }
  const std::vector<std::string>& input_names() const { return input_names_; }
  Values inputs() const;
  Values labels() const;  // all that are not inputs

  // As in DSPy: the values alone decide, in any order.
  friend bool operator==(const Example& a, const Example& b) { return a.values_ == b.values_; }

 private:
  bool IsInput(std::string_view name) const;

  Values values_;
  std::vector<std::string> input_names_;
};

}  // namespace inferflux::dspy
