// Finds the format in which a model writes tool calls, from its chat template.
#pragma once

#include <optional>

#include "text/chat_template.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

struct TemplateCalls {
  const ToolCallSyntax* syntax = nullptr;
  bool several = false;         // a message may contain several calls
  bool null_content = false;    // a message with calls only must have null as its content, not an empty text
  bool text_arguments = false;  // arguments must be JSON text, not an object
  bool short_ids = false;       // the ids of calls must be nine letters and digits
  bool joint_results = false;   // results must be in the message that calls, as its `tool_responses`
};

// Renders a conversation with a call, and finds the format whose parser returns exactly that call. A template that
// omits calls from its output counts if it names a format's opening marker to the model. None if the format is unknown,
// or if the template does not support calls at all.
std::optional<TemplateCalls> FindTemplateCalls(const ChatTemplate& chat_template);

}  // namespace inferflux::text
