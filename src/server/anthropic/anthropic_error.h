// Errors in the format of Anthropic's API: {"type": "error", "error": {"type", "message"}, "request_id"}.
#pragma once

#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

// The text of the envelope, for a response body and for the event that ends a stream.
std::string AnthropicErrorJson(const ApiError& error, std::string_view request_id);

// Turns 503 into this API's 529, overloaded_error.
net::Response AnthropicErrorResponse(const ApiError& error);

}  // namespace inferflux::server
