// Reads arguments that are written in a syntax of a model's own, as they come.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_calls/read_step.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// Of the name in front of arguments that nothing else ends: what they open with.
std::string_view ArgumentsOpen(ValueSyntax syntax);

// Numbers and words are JSON's, or Python's None, True and False. A comma may stand behind the last of a list. Of
// members with one name the last counts.
class ValueReader {
 public:
  using Step = ReadStep;

  explicit ValueReader(const ToolCallForm& form) : form_(form) {}

  void Reset();
  // Goes on in `text` from `at`, and moves that behind what is read. What stood in front of `at` stays in its place.
  // Done where all arguments are read.
  Step Read(std::string_view text, size_t& at);
  // What was read when kDone came.
  boost::json::object Release() { return std::move(arguments_); }

 private:
  enum class Next : uint8_t { kArguments, kKey, kSeparator, kItem, kValue, kComma, kNothing };
  // An object or a list that is still open.
  struct Open {
    boost::json::value content;
    std::string key;  // of an object's next value
    char closes = 0;
    char binds = ':';  // a value to its name
  };

  Step Take(std::string_view text, size_t& at);
  Step Key(std::string_view text, size_t& at);
  Step Value(std::string_view text, size_t& at);
  Step String(std::string_view text, size_t& at, std::string& out);
  Step QuotedString(std::string_view text, size_t& at, std::string& out);
  Step MarkedString(std::string_view text, size_t& at, std::string& out);
  Step Word(std::string_view text, size_t& at);
  Step Begin(boost::json::value empty, char closes, char binds = ':');
  Step Close();
  void Put(boost::json::value value);

  const ToolCallForm& form_;
  std::vector<Open> open_;
  Next next_ = Next::kArguments;
  size_t searched_ = 0;  // up to where the end of the string or name that comes next was looked for
  boost::json::object arguments_;
};

}  // namespace inferflux::text
