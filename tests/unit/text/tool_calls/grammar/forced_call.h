// The grammar of an answer that has to call the function `f`, in a model's own syntax.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/grammar_text.h"
#include "text/tool_calls/syntax_of.h"

namespace inferflux::text::testing {

inline GrammarSpec ForcedCall(std::string_view syntax, const std::string& parameters) {
  return {.kind = GrammarSpec::Kind::kToolCalls,
          .tool_calls = {.syntax = &SyntaxOf(syntax), .tools = {{"f", parameters}}, .forced = true}};
}

}  // namespace inferflux::text::testing
