// Reads arguments that stand in elements within elements, as they come: <name>text</name>, a mark in front of each tag.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_calls/read_step.h"

namespace inferflux::text {

// Lists are elements called "item". Any closing tag closes the innermost element, whatever its name.
class ElementReader {
 public:
  using Step = ReadStep;

  // `mark` outlives it.
  explicit ElementReader(std::string_view mark) : mark_(mark) {}

  void Reset();
  // Goes on in `text` from `at`, and moves that behind what is read. What stood in front of `at` stays in its place.
  // Done where a closing tag comes that closes none of them.
  Step Read(std::string_view text, size_t& at);
  // What was read when kDone came, with the types that the schema `parameters` has for it: text does not show them.
  boost::json::object Release(const boost::json::value& parameters) const;

 private:
  struct Element {
    std::string name;
    std::string text;
    std::vector<Element> children;
  };

  static boost::json::value ValueOf(const Element& element, const boost::json::value* schema,
                                    const boost::json::value& parameters);
  static boost::json::object MembersOf(const Element& element, const boost::json::value* schema,
                                       const boost::json::value& parameters);

  const std::string_view mark_;
  std::vector<Element> open_ = {{}};  // the arguments, and each element that is open within
  size_t searched_ = 0;               // up to where the next mark was looked for
};

}  // namespace inferflux::text
