// Finds <tool_call>{"name": ..., "arguments": {...}}</tool_call> in generated text as it comes (the form of Hermes and
// Qwen).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferflux::server {

struct FoundToolCall {
  std::string name;
  std::string arguments;  // the text of a JSON object
};

class ToolCallParser {
 public:
  struct Output {
    std::string content;
    std::vector<FoundToolCall> calls;
  };

  // What `text` decides. Text that may be the beginning of a call, and space that may stand in front of one, is held
  // back.
  Output Feed(std::string_view text);
  // The end of the text: what is held back is content, unless it is a call that only lacks its closing tag.
  Output Finish();

  // Calls that were found so far.
  size_t found() const { return found_; }

 private:
  bool Step(Output& out);
  void TakeCall(std::string_view body, Output& out, std::string_view whole);

  std::string pending_;
  bool inside_ = false;  // pending_ begins behind an opening tag
  size_t found_ = 0;
};

}  // namespace inferflux::server
