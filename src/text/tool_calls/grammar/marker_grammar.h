// The markers of tool calls as grammars.
#pragma once

#include <string_view>

#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

// The marker, with the vocabulary's control tokens for the parts that are such tokens. An end-of-generation token is
// omitted: the answer ends there.
Expr MarkerGrammar(std::string_view marker, const MarkerTokens& tokens, JsonGrammar& json);

// Any text that does not contain this marker.
Result<CharAutomaton> TextWithout(std::string_view text);

// Any text in which the format's parser finds no call.
Result<Expr> TextWithoutCalls(const ToolCallSyntax& syntax);

}  // namespace inferflux::text
