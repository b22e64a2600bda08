// Reads the JSON of a call as it arrives, and passes on the text of its arguments while they grow.
#pragma once

#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/tool_calls/read/compact_json.h"
#include "text/tool_calls/read/read_step.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

// Of a kNamed the JSON is the arguments; of a kObject it holds the name, too. Arguments in front of the name are not
// passed on: they are in the value at the end.
class JsonCallReader {
 public:
  using Step = ReadStep;

  explicit JsonCallReader(const ToolCallSyntax& syntax) : syntax_(syntax) {}

  void Reset();
  // Continues in `text` from `at`, and moves `at` past what it has read; on kMisfit, `at` is at the first byte that
  // does not fit. The result does not depend on how the text was cut.
  Step Read(std::string_view text, size_t& at);

  // Whether the arguments, an object, have begun, and the name is known; and whether they have ended.
  bool has_arguments() const { return arguments_ != Part::kBefore; }
  bool has_all_arguments() const { return arguments_ == Part::kBehind; }
  const std::string& name() const { return name_; }  // of a kObject

  // The arguments since the last call, compact. No piece ends inside a character or an escape.
  std::string TakeArguments() { return compact_.Take(); }
  // The beginning of a character or an escape at the end of what was read.
  const std::string& held() const { return compact_.held(); }

  // The value after kDone.
  boost::json::value Release() { return parser_.release(); }

 private:
  enum class Part : uint8_t { kBefore, kInside, kBehind };

  void Track(char c);
  void TrackString(char c);
  bool BeginArguments();

  const ToolCallSyntax& syntax_;
  boost::json::stream_parser parser_;
  CompactJson compact_;
  Part arguments_ = Part::kBefore;
  size_t depth_ = 0;  // of open objects and lists
  bool in_string_ = false;
  bool escaped_ = false;  // the last byte was a backslash that escapes the next one
  bool is_key_ = true;    // at depth 1: before the colon
  std::string string_;    // at depth 1: the last one, with its quotes
  std::string key_;       // at depth 1
  std::string name_;
};

}  // namespace inferflux::text
