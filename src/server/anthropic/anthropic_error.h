// Errors as Anthropic's API words them: {"type": "error", "error": {"type", "message"}, "request_id"}.
#pragma once

#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

// The envelope's text, for a body and for the event that ends a stream.
std::string AnthropicErrorJson(const ApiError& error, std::string_view request_id);

// 503 becomes this API's own 529, overloaded_error.
net::Response AnthropicErrorResponse(const ApiError& error);

}  // namespace inferflux::server
