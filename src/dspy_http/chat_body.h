// Requests and answers of OpenAI's chat completions and completions, as programs see them.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "dspy/lm/lm.h"
#include "dspy_http/http_config.h"

namespace inferflux::dspy {

// The body of POST /chat/completions, or of /completions where the request has no messages.
boost::json::object RequestBody(const LmRequest& request, const HttpConfig& config, bool stream);

// A whole answer. kInferenceFailed if it is not one of this API.
Result<LmResponse> ReadAnswer(std::string_view body);

// Adds one event of a streamed answer to `out`; returns the text that it brings.
Result<std::string> AddEvent(std::string_view data, LmResponse& out);

// What a refusal means for a program.
Error ReadRefusal(int status, std::string_view body);

}  // namespace inferflux::dspy
