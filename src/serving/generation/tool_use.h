// Tool calls of one request: the grammar that constrains them, and the parsers that find them in the answers.
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

// Checks the tool choice. If it requires a call syntax, sets the grammar in `spec` and the field that requires it in
// `chat`. Under kNone, removes the chat's tools. A second call changes nothing.
GenerationStatus ResolveTools(Chat& chat, GenerationSpec& spec);

// Sets the model's call syntax in the request's grammar. If the syntax is unknown, kUnsupported names the field that
// requires it.
GenerationStatus ResolveToolCallSyntax(const ServedModel& model, const Chat& chat, GenerationSpec& spec);

// One parser of tool calls for each answer to the request; empty if it offers no tools.
std::vector<std::unique_ptr<text::ToolCallParser>> ToolCallParsers(const ServedModel& model, const Chat& chat,
                                                                   size_t answers);

}  // namespace inferflux::serving
