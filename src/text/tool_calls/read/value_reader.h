// Parses arguments in a model's own syntax, as they arrive.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_calls/read/read_step.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

// The text that ends the name before such arguments: their opening.
std::string_view ArgumentsOpen(ValueSyntax syntax);

// Numbers and words are JSON's, or Python's None, True and False. A comma may follow the last item of a list. Of
// members with the same name, the last one counts.
class ValueReader {
 public:
  using Step = ReadStep;

  explicit ValueReader(const ToolCallSyntax& syntax) : syntax_(syntax) {}

  void Reset();
  // Continues in `text` from `at`, and moves `at` past what it has read. The text before `at` must not move. Done when
  // all arguments are read.
  Step Read(std::string_view text, size_t& at);
  // The result after kDone.
  boost::json::object Release() { return std::move(arguments_); }

 private:
  enum class Next : uint8_t { kArguments, kKey, kSeparator, kItem, kValue, kComma, kNothing };
  // An open object or list.
  struct Open {
    boost::json::value content;
    std::string key;  // of an object's next value
    char closes = 0;
    char binds = ':';  // adds a value under its name
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

  const ToolCallSyntax& syntax_;
  std::vector<Open> open_;
  Next next_ = Next::kArguments;
  size_t searched_ = 0;  // the search for the end of the current string or name continues here
  boost::json::object arguments_;
};

}  // namespace inferflux::text
