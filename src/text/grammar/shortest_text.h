// What a lazy rule matches: of each text, the shortest beginning that fits.
#pragma once

#include <unordered_set>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// The texts of `rule`'s body, followed by `stop` if it is set, of which no shorter beginning is such a text too.
// kInvalidArgument if the rule calls itself or another one of `lazy`, is nested too deep, or needs too large an
// automaton.
Result<Expr> ShortestText(const Grammar& grammar, RuleId rule, const Expr& stop,
                          const std::unordered_set<RuleId>& lazy);

}  // namespace inferflux::text
