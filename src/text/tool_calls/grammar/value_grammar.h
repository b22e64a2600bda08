// The syntaxes in which models write the arguments of calls, as grammars of JSON values.
#pragma once

#include <memory>

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

Result<std::unique_ptr<JsonGrammar>> GrammarOfValues(const ToolCallSyntax& syntax, const MarkerTokens& tokens);

}  // namespace inferflux::text
