// GBNF, the grammar notation of llama.cpp (its grammars/README.md): rules `name ::= ...` of literals, character
// classes, `.`, groups, alternatives and repetitions. The rule `root` matches the text.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

inline constexpr size_t kMaxGrammarBytes = 256 * 1024;
inline constexpr size_t kMaxRules = 4096;
inline constexpr size_t kMaxNesting = 128;  // of groups

// kInvalidArgument names the line and the problem.
Result<Grammar> ParseGbnf(std::string_view source);

}  // namespace inferflux::text
