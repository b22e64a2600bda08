// The body of POST /v1/chat/completions, checked and plain.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>

#include "server/generation_fields.h"

namespace inferflux::server {

struct ChatRequest : GenerationFields {
  boost::json::array messages;  // as the template takes them: contents are strings, tool calls' arguments are objects
  boost::json::array tools;     // empty: none were offered, or tool_choice is "none"
  std::optional<int64_t> max_completion_tokens;  // after parsing, max_tokens holds the limit
  bool logprobs = false;
  std::optional<int64_t> top_logprobs;
  bool may_call_tools = true;  // tool_choice "auto"
};

ApiResult<ChatRequest> ParseChatRequest(const boost::json::object& body);

}  // namespace inferflux::server
