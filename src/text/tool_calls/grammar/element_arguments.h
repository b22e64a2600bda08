// A grammar for arguments in nested elements, as ElementReader parses them.
#pragma once

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// The text between the name and the marker that closes the call. Text does not show its type, so the schema must: a
// value is null or of one type, or of any type at all. kUnsupported names the part of the schema that cannot be
// enforced this way.
Result<Expr> ElementArguments(const ToolCallForm& form, const MarkerTokens& tokens, const OfferedTool& tool,
                              JsonGrammar& values);

}  // namespace inferflux::text
