// Calls of tools as one model writes them, for one request.
#pragma once

#include <memory>
#include <vector>

#include "server/openai/chat_request.h"
#include "server/request/api_error.h"
#include "serving/models/served_model.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::server {

// A 400 that names the field that needs calls to be held to a form, where the model's form is not known; otherwise the
// request's grammar is told of it.
ApiStatus ResolveToolCallForm(const serving::ServedModel& model, ChatRequest& request);

// What finds calls in each of so many answers to the request; empty where it offers no tools.
std::vector<std::unique_ptr<text::ToolCallParser>> ToolCallParsers(const serving::ServedModel& model,
                                                                   const ChatRequest& request, size_t answers);

}  // namespace inferflux::server
