// Regular expressions as grammars: the part of ECMA 262 and Python that describes a regular language - literals,
// classes, \d \w \s (ASCII), groups, alternatives, repetitions, (?s:...), where a dot matches line ends too, and ^ and
// $ at the ends. Look-around, other flags, back references and \b are errors.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

enum class RegexScope : uint8_t {
  kWhole,   // the whole text is one match
  kSearch,  // the text contains a match, as JSON Schema's `pattern` means it
};

// kInvalidArgument says what is wrong, and where.
Result<Expr> ParseRegex(std::string_view pattern, RegexScope scope);

}  // namespace inferflux::text
