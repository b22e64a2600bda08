// A grammar for answers that call tools, in the format in which a model writes calls.
#pragma once

#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

struct ToolCallSpec {
  const ToolCallSyntax* syntax = &HermesSyntax();
  MarkerTokens tokens = {};
  std::vector<OfferedTool> tools = {};
  bool forced = false;   // the answer is a call; otherwise calls may follow text, or be absent
  bool several = false;  // more than one call may be made

  friend bool operator==(const ToolCallSpec&, const ToolCallSpec&) = default;
};

// kInvalidArgument or kUnsupported names the tool and the part of its schema that cannot be enforced.
Result<Grammar> GrammarOfToolCalls(const ToolCallSpec& spec);

}  // namespace inferflux::text
