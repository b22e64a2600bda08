// The parsed and checked body of POST /v1/chat/completions.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>

#include "server/openai/fields/generation_fields.h"
#include "serving/generation/chat.h"

namespace inferflux::server {

struct ChatRequest : GenerationFields {
  serving::Chat chat;
  int32_t max_completion_tokens = 0;  // 0: absent; after parsing, max_tokens holds the limit
  bool logprobs = false;
};

ApiResult<ChatRequest> ParseChatRequest(const boost::json::object& body);

}  // namespace inferflux::server
