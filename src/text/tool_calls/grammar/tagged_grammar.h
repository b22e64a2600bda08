// The arguments of tool calls that stand between tags, under a tool's schema.
#pragma once

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// What stands between the name and the marker that closes the call, as the form's parser reads it: strings as they are,
// other values as JSON. kUnsupported names what of the schema cannot be honoured so: of a string its type, `enum` and
// `const` can, and that it may be null.
Result<Expr> TaggedArguments(const ToolCallForm& form, const MarkerTokens& tokens, const OfferedTool& tool,
                             JsonGrammar& json);

}  // namespace inferflux::text
