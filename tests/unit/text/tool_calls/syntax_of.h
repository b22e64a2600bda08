// Finds a format of tool calls by name.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text::testing {

inline const ToolCallSyntax& SyntaxOf(std::string_view id) {
  for (const ToolCallSyntax& syntax : ToolCallSyntaxes()) {
    if (syntax.id == id) return syntax;
  }
  ADD_FAILURE() << id;
  return HermesSyntax();
}

}  // namespace inferflux::text::testing
