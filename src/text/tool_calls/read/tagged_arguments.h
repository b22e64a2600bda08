// Arguments between tags as the text of a JSON object, which grows as they arrive.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::text {

// A value that can only be a string grows character by character; any other is complete before it is passed on, because
// its beginning does not show its type. Of arguments with the same name, the first one counts. Each function returns
// what the object grows by.
class TaggedArguments {
 public:
  // `own_lines`: a value has lines of its own, and the line ends around it are not part of it.
  explicit TaggedArguments(bool own_lines) : own_lines_(own_lines) {}

  void Reset();
  // Begins an argument of the type that `parameters`, the tool's schema, has for it. `parameters` must outlive it.
  std::string Begin(std::string_view name, const boost::json::value& parameters);
  // `value` is all of it so far, without what may be its closing.
  std::string Grow(std::string_view value);
  std::string End(std::string_view value);
  std::string Close() const;

 private:
  std::string_view Content(std::string_view value, bool whole) const;

  const bool own_lines_;
  std::vector<std::string> names_;
  const boost::json::value* schema_ = nullptr;  // of the argument
  bool is_text_ = false;
  bool repeated_ = false;  // the argument has the name of an earlier one
  size_t sent_ = 0;        // bytes of its content
};

}  // namespace inferflux::text
