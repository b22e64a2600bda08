// The control tokens of a vocabulary that the markers of a format consist of.
#pragma once

#include <string>
#include <vector>

#include "base/token_id.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

struct MarkerTokens {
  std::vector<TokenId> shown;        // control tokens that are markers, or parts of them: text for the parser
  std::vector<std::string> control;  // their names
  std::vector<std::string> ends;     // names of end-of-generation tokens among the markers: the answer ends with them
  friend bool operator==(const MarkerTokens&, const MarkerTokens&) = default;
};

MarkerTokens MarkerTokensOf(const ToolCallSyntax& syntax, const Tokenizer& tokenizer);

}  // namespace inferflux::text
