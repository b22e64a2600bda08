// Grammars of the answers that an adapter reads: what a model writes under one parses, with the right types.
// kInvalidConfig names a field whose type has no such grammar.
#pragma once

#include "dspy/error.h"
#include "dspy/lm/lm.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {

// "[[ ## name ## ]]" sections, and "[[ ## completed ## ]]" at the end, in GBNF.
Result<Constraint> HeaderGrammar(const Signature& signature);
// "name: value" lines in GBNF.
Result<Constraint> NameGrammar(const Signature& signature);
// One JSON object with all output fields, as JSON Schema.
Result<Constraint> AnswerSchema(const Signature& signature);

}  // namespace inferflux::dspy
