// Answers that call tools, in the form in which a model writes calls.
#pragma once

#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

struct ToolCallSpec {
  const ToolCallForm* form = &HermesForm();
  MarkerTokens tokens = {};
  std::vector<OfferedTool> tools = {};
  bool forced = false;   // the answer is a call; otherwise calls may stand behind text, or be left out
  bool several = false;  // more than one call may be made

  friend bool operator==(const ToolCallSpec&, const ToolCallSpec&) = default;
};

// kInvalidArgument or kUnsupported names the tool and what of its schema cannot be honoured.
Result<Grammar> GrammarOfToolCalls(const ToolCallSpec& spec);

}  // namespace inferflux::text
