// The parsed and checked bodies of POST /v1/messages and /v1/messages/count_tokens.
#pragma once

#include <vector>

#include <boost/json/object.hpp>
#include <string>

#include "server/reply/field_rows.h"
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

// Also accepts sampling parameters that Anthropic's API lacks, under their usual names.
ApiResult<MessagesRequest> ParseMessagesRequest(const boost::json::object& body);

// Parses a body of count_tokens: no max_tokens and no fields about the answer.
ApiResult<MessagesRequest> ParseCountRequest(const boost::json::object& body);

// Prefixes the error with this API's name of its field.
ApiError FromMessagesGeneration(serving::GenerationError error);

// Its fields, for the documentation.
std::vector<FieldRow> MessagesFieldRows();

}  // namespace inferflux::server
