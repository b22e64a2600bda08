// Converts the messages of a chat from OpenAI's format to that of chat templates.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

inline constexpr size_t kMaxMessages = 4096;
inline constexpr size_t kMaxContentParts = 1024;

// Contents become strings (text parts joined), "developer" becomes "system", and the arguments of tool calls, which the
// API sends as a JSON string, become objects. Parts other than text are errors that name them.
ApiResult<boost::json::array> ParseMessages(const boost::json::value& value, std::string_view param);

// A message's content: a string, or a list of text parts.
ApiResult<std::string> ReadTextContent(const boost::json::value& value, std::string_view param);

}  // namespace inferflux::server
