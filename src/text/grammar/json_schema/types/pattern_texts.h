// The regular expressions of `pattern` and `patternProperties`: those of regex_parser.h, and look-ahead after "^".
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// The texts that contain a match. kInvalidArgument says what is wrong, and where.
Result<Expr> ParsePattern(std::string_view pattern);

}  // namespace inferflux::text
