// Arguments that stand in elements within elements, as ElementReader reads them.
#pragma once

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// What stands between the name and the marker that closes the call. Text does not show its type, so the schema must: a
// value is null or of one type, or of any at all. kUnsupported names what of the schema cannot be honoured so.
Result<Expr> ElementArguments(const ToolCallForm& form, const MarkerTokens& tokens, const OfferedTool& tool,
                              JsonGrammar& values);

}  // namespace inferflux::text
