// The messages of Anthropic's API, whose contents are lists of blocks, as chat templates take them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

// A string, or a list of text blocks, whose texts are joined by empty lines. It is `system`'s form, and that of a
// tool's result.
ApiResult<std::string> ReadTextBlocks(const boost::json::value& value, std::string_view param);

// Text blocks of a message are joined; `tool_use` blocks become the message's tool calls, `tool_result` blocks messages
// of their own, in their places; `thinking` becomes reasoning_content, which templates leave out where they want to.
// Images and documents are an error that names them.
ApiResult<boost::json::array> ReadAnthropicMessages(const boost::json::value& value, std::string_view param);

}  // namespace inferflux::server
