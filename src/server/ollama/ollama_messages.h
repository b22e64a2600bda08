// Converts the messages and tools of Ollama's API to the format of chat templates.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "server/request/api_error.h"
#include "serving/generation/chat.h"

namespace inferflux::server {

// Calls get ids, which this API lacks, and each result that of the call that it answers: the next one of its
// `tool_name`, or the next one. Images are errors that name them.
ApiResult<boost::json::array> ReadOllamaMessages(const boost::json::value& value, std::string_view param);

ApiStatus ReadOllamaTools(const boost::json::value& value, std::string_view param, serving::Chat& out);

}  // namespace inferflux::server
