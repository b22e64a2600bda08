// The bodies of POST /v1/messages and /v1/messages/count_tokens, checked and plain.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "server/request/api_error.h"
#include "serving/generation/chat.h"
#include "serving/generation/generation_spec.h"

namespace inferflux::server {

struct MessagesRequest : serving::GenerationSpec {
  std::string model;
  std::string system;
  serving::Chat chat;
  bool stream = false;
};

// Sampling parameters that Anthropic's API has not are taken too, under their usual names.
ApiResult<MessagesRequest> ParseMessagesRequest(const boost::json::object& body);

// What a body to be counted has: no max_tokens, nothing about the answer.
ApiResult<MessagesRequest> ParseCountRequest(const boost::json::object& body);

// This API's name of the error's field in front of it.
ApiError FromMessagesGeneration(serving::GenerationError error);

}  // namespace inferflux::server
