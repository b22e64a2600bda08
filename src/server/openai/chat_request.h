// The parsed and checked body of POST /v1/chat/completions.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "server/openai/fields/generation_fields.h"
#include "server/reply/field_rows.h"
#include "serving/generation/chat.h"

namespace inferflux::server {

struct ChatRequest : GenerationFields {
  serving::Chat chat;
  int32_t max_completion_tokens = 0;  // 0: absent; after parsing, max_tokens holds the limit
  bool logprobs = false;
  std::vector<std::string> allowed_tools;  // the names of tool_choice.allowed_tools; empty: all tools
};

ApiResult<ChatRequest> ParseChatRequest(const boost::json::object& body);

// Its fields, for the documentation.
std::vector<FieldRow> ChatFieldRows();

}  // namespace inferflux::server
