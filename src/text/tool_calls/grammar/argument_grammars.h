// Grammars for the arguments of tool calls under a tool's schema, for formats that do not write them as one JSON
// object. kUnsupported names the part of the schema that the format cannot enforce.
#pragma once

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

// Arguments between tags, from the name to the marker that closes the call: strings verbatim, other values as JSON. For
// a string, its type, `enum`, `const` and null can be enforced.
Result<Expr> TaggedArguments(const ToolCallSyntax& syntax, const MarkerTokens& tokens, const OfferedTool& tool,
                             JsonGrammar& json);

// Arguments in nested elements, as ElementReader parses them, from the name to the marker that closes the call. Text
// does not show its type, so the schema must: a value is null or of one type, or of any type at all.
Result<Expr> ElementArguments(const ToolCallSyntax& syntax, const MarkerTokens& tokens, const OfferedTool& tool,
                              JsonGrammar& values);

// The arguments of a Python call, (name=value, ...): those that the schema names, in its order; any arguments if it
// names none and forbids none.
Result<Expr> PythonArguments(const OfferedTool& tool, JsonGrammar& values);

// The arguments of a custom tool with a grammar: an object whose only member, a string, matches it.
Result<Expr> LarkArguments(const ToolCallSyntax& syntax, const OfferedTool& tool, JsonGrammar& json);

}  // namespace inferflux::text
