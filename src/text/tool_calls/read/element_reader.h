// Parses arguments in nested elements as they arrive: <name>text</name>, with a mark before each tag.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_calls/read/read_step.h"

namespace inferflux::text {

// Lists are elements called "item". Any closing tag closes the innermost element, whatever its name.
class ElementReader {
 public:
  using Step = ReadStep;

  // `mark` must outlive it.
  explicit ElementReader(std::string_view mark) : mark_(mark) {}

  void Reset();
  // Continues in `text` from `at`, and moves `at` past what it has read. The text before `at` must not move. Done at a
  // closing tag that closes none of the elements.
  Step Read(std::string_view text, size_t& at);
  // The result after kDone, with the types of the schema `parameters`, because text does not show them.
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
  std::vector<Element> open_ = {{}};  // the arguments, and each open element within them
  size_t searched_ = 0;               // the search for the next mark continues here
};

}  // namespace inferflux::text
