// How one model writes tool calls.
#pragma once

#include <memory>

#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/template_calls.h"

namespace inferflux::text {

struct ToolCallDialect {
  TemplateCalls calls;
  MarkerTokens tokens;  // the format's markers that are in the model's vocabulary
};

// Null if the template shows no known format.
inline std::shared_ptr<const ToolCallDialect> ToolCallDialectOf(const ChatTemplate& chat_template,
                                                                const Tokenizer& tokenizer) {
  const auto calls = FindTemplateCalls(chat_template);
  if (!calls) return nullptr;
  return std::make_shared<const ToolCallDialect>(ToolCallDialect{*calls, MarkerTokensOf(*calls->syntax, tokenizer)});
}

}  // namespace inferflux::text
