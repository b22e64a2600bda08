// Calls of tools as one model writes them, for one request.
#pragma once

#include <memory>
#include <vector>

#include "routing/served_model.h"
#include "server/api_error.h"
#include "server/chat_request.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::server {

// A 400 that names the field that needs calls to be held to a form, where the model's form is not known; otherwise the
// request's grammar is told of it.
ApiStatus SettleToolCallForm(const routing::ServedModel& model, ChatRequest& request);

// What finds calls in each of so many answers to the request; empty where it offers no tools.
std::vector<std::unique_ptr<text::ToolCallParser>> ToolCallParsers(const routing::ServedModel& model,
                                                                   const ChatRequest& request, size_t answers);

}  // namespace inferflux::server
