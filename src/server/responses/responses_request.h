// The parsed and checked body of POST /v1/responses.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/reply/field_rows.h"
#include "server/request/api_error.h"
#include "server/responses/input_items.h"
#include "serving/generation/chat.h"
#include "serving/generation/generation_spec.h"

namespace inferflux::server {

struct ResponsesRequest : serving::GenerationSpec {
  std::string model;
  std::string instructions;
  InputItems input;
  bool has_input = false;
  std::string previous;      // previous_response_id
  std::string conversation;  // its id
  serving::Chat chat;        // without messages
  std::vector<std::string> allowed_tools;
  bool stream = false;
  bool store = true;
  bool background = false;
  bool logprobs = false;
  std::string prompt_cache_key;
  boost::json::object echo;  // the fields that the response repeats
};

ApiResult<ResponsesRequest> ParseResponsesRequest(const boost::json::object& body);

// This API's name of the error's field.
ApiError FromResponsesGeneration(serving::GenerationError error);

// Its fields, for the documentation.
std::vector<FieldRow> ResponsesFieldRows();

}  // namespace inferflux::server
