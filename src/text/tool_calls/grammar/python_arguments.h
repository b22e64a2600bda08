// The arguments of a call as Python writes them: (name=value, ...).
#pragma once

#include <string>

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// Those that the schema names, in its order; any where it names none and forbids none.
// kUnsupported names what of it cannot be honoured so.
Result<Expr> PythonArguments(const OfferedTool& tool, JsonGrammar& values);

}  // namespace inferflux::text
