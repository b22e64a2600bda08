// Calls of tools in one request: what they are held to, and what finds them in the answers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "serving/generation/chat.h"
#include "serving/generation/generation_error.h"
#include "serving/generation/generation_spec.h"
#include "serving/models/served_model.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::serving {

// Checks the choice of tools; where it needs calls to be held to their form, `spec` gets the grammar that does it and
// `chat` the field that wants it. Under kNone the chat loses its tools. A second call changes nothing.
GenerationStatus ResolveTools(Chat& chat, GenerationSpec& spec);

// Tells the request's grammar how this model writes calls. kUnsupported names the field that needs that where it is not
// known.
GenerationStatus ResolveToolCallForm(const ServedModel& model, const Chat& chat, GenerationSpec& spec);

// What finds calls in each of so many answers to the request; empty where it offers no tools.
std::vector<std::unique_ptr<text::ToolCallParser>> ToolCallParsers(const ServedModel& model, const Chat& chat,
                                                                   size_t answers);

}  // namespace inferflux::serving
