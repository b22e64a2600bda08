// In which form a model writes calls of tools: its chat template shows it.
#pragma once

#include <string_view>

#include "routing/served_model.h"
#include "server/api_error.h"
#include "text/chat_template/chat_template.h"

namespace inferflux::server {

// Whether a call of an assistant is rendered as ToolCallParser reads it, which is the form that a grammar can hold an
// answer to.
bool RendersToolCalls(const text::ChatTemplate& chat_template);

// A 400 that names `param`, the field that needs that form, where the model has another one or none.
ApiStatus CheckToolCallForm(const routing::ServedModel& model, std::string_view param);

}  // namespace inferflux::server
