// A grammar for the arguments of tool calls between tags, under a tool's schema.
#pragma once

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// The text between the name and the marker that closes the call, as the format's parser reads it: strings verbatim,
// other values as JSON. kUnsupported names the part of the schema that cannot be enforced this way. For a string, its
// type, `enum`, `const` and null can be enforced.
Result<Expr> TaggedArguments(const ToolCallForm& form, const MarkerTokens& tokens, const OfferedTool& tool,
                             JsonGrammar& json);

}  // namespace inferflux::text
