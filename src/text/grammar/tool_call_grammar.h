// Answers that call tools, in the form of Hermes and Qwen: <tool_call>{"name": ..., "arguments": {...}}</tool_call>.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

inline constexpr std::string_view kToolCallOpen = "<tool_call>";
inline constexpr std::string_view kToolCallClose = "</tool_call>";

struct ToolCallSpec {
  struct Tool {
    std::string name;
    std::string parameters;  // a JSON schema that the arguments are held to; empty: any object
    friend bool operator==(const Tool&, const Tool&) = default;
  };
  std::vector<Tool> tools;
  bool forced = false;   // the answer is a call; otherwise calls may stand behind text, or be left out
  bool several = false;  // more than one call may be made

  friend bool operator==(const ToolCallSpec&, const ToolCallSpec&) = default;
};

// kInvalidArgument or kUnsupported names the tool and what of its schema cannot be honoured.
Result<Grammar> GrammarOfToolCalls(const ToolCallSpec& spec);

}  // namespace inferflux::text
