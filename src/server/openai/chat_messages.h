// The messages of a chat, from OpenAI's form to the one that chat templates take.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

inline constexpr size_t kMaxMessages = 4096;
inline constexpr size_t kMaxContentParts = 1024;

// Contents become strings (text parts joined), "developer" becomes "system", and the arguments of tool calls, which the
// API carries as a string of JSON, become the object itself. Parts that are no text are an error that names them.
ApiResult<boost::json::array> ParseMessages(const boost::json::value& value, std::string_view param);

}  // namespace inferflux::server
