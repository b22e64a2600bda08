// The markers of tool calls as grammars.
#pragma once

#include <string_view>

#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// The marker with the vocabulary's control tokens for those of its parts that are some. An end-of-generation token is
// nothing: the answer ends there.
Expr MarkerGrammar(std::string_view marker, const MarkerTokens& tokens, JsonGrammar& json);

// Any text in which this one does not stand.
Result<CharAutomaton> TextWithout(std::string_view text);

// Any text in which the form's parser finds no call.
Result<Expr> TextWithoutCalls(const ToolCallForm& form);

}  // namespace inferflux::text
