// A grammar for the arguments of a call in Python's syntax: (name=value, ...).
#pragma once

#include <string>

#include "base/result.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// The arguments that the schema names, in its order; any arguments if it names none and forbids none. kUnsupported
// names the part of it that cannot be enforced this way.
Result<Expr> PythonArguments(const OfferedTool& tool, JsonGrammar& values);

}  // namespace inferflux::text
