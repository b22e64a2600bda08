// Grammars in Lark's notation (lark-parser.readthedocs.io), as OpenAI's custom tools take them: rules and terminals of
// strings, regular expressions, ranges, groups, alternatives and repetitions, `%ignore`, and `%import common.NAME`.
//
// The text is matched without a lexer, as Lark's Earley parser does it with its dynamic lexer: a terminal may end
// anywhere. Priorities and aliases, which choose among trees of one text, have no effect. Direct left recursion becomes
// a repetition. Templates, other imports and what only shapes a parser are errors.
//
// A grammar that begins with `%llguidance {}` may also have what that library adds (llguidance, docs/syntax.md), as the
// clients of other servers send it: `name{2,5}`, `%json {...}`, and the attributes of rules `capture`, `stop_capture`,
// `stop`, `suffix`, `lazy`, and `max_tokens` of a rule that is the whole text. Its special tokens, `%regex`, `%lark`
// and `temperature` are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// The rule `start` matches the text. kInvalidArgument or kUnsupported names the line and the problem.
Result<Grammar> ParseLark(std::string_view source);

// The most tokens that a grammar as ParseLark takes it states for the text; none if it states none.
std::optional<uint32_t> TokenLimitOfLark(std::string_view source);

}  // namespace inferflux::text
