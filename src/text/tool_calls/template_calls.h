// How a model writes calls of tools: its chat template shows it.
#pragma once

#include <optional>

#include "text/chat_template.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

struct TemplateCalls {
  const ToolCallForm* form = nullptr;
  bool several = false;         // a message may hold more than one call
  bool null_content = false;    // a message that only calls must have null as its content, not an empty text
  bool text_arguments = false;  // arguments must be the text of the JSON, not the object itself
  bool short_ids = false;       // the ids of calls must be nine letters and digits
  bool joint_results = false;   // results must stand in the message that calls, as its `tool_responses`
};

// Renders a conversation with a call, and finds the form whose parser gives back just that call. A template that
// leaves calls out of what it renders counts where it names a form's opening marker to the model. None where the form
// is not known, or the template does not take calls at all.
std::optional<TemplateCalls> FindTemplateCalls(const ChatTemplate& chat_template);

}  // namespace inferflux::text
