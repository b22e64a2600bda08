// Finds a format of tool calls by name.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text::testing {

inline const ToolCallForm& FormOf(std::string_view id) {
  for (const ToolCallForm& form : ToolCallForms()) {
    if (form.id == id) return form;
  }
  ADD_FAILURE() << id;
  return HermesForm();
}

}  // namespace inferflux::text::testing
