// Puts one grammar into another.
#pragma once

#include "text/grammar/expression.h"

namespace inferflux::text {

// Adds all rules of `scion` to `stock`. Returns an expression that matches what `scion` matches.
Expr GraftGrammar(const Grammar& scion, Grammar& stock);

}  // namespace inferflux::text
