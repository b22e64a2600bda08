// How one model writes calls of tools.
#pragma once

#include <memory>

#include "text/tool_calls/marker_tokens.h"
#include "text/tool_calls/template_calls.h"

namespace inferflux::text {

struct ToolCallDialect {
  TemplateCalls calls;
  MarkerTokens tokens;  // that the form's markers are in the model's vocabulary
};

// Null where the template shows no form that is known.
inline std::shared_ptr<const ToolCallDialect> ToolCallDialectOf(const ChatTemplate& chat_template,
                                                                const Tokenizer& tokenizer) {
  const auto calls = FindTemplateCalls(chat_template);
  if (!calls) return nullptr;
  return std::make_shared<const ToolCallDialect>(ToolCallDialect{*calls, MarkerTokensOf(*calls->form, tokenizer)});
}

}  // namespace inferflux::text
