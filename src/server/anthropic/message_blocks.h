// Converts the messages of Anthropic's API, whose contents are lists of blocks, to the format of chat templates.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

// Reads a string or a list of text blocks, whose texts are joined by empty lines. `system` and tool results have this
// format.
ApiResult<std::string> ReadTextBlocks(const boost::json::value& value, std::string_view param);

// Joins the text blocks of a message. `tool_use` blocks become the message's tool calls; `tool_result` blocks become
// separate messages in their places; `thinking` becomes reasoning_content, which a template may omit. Images and
// documents are errors that name them.
ApiResult<boost::json::array> ReadAnthropicMessages(const boost::json::value& value, std::string_view param);

}  // namespace inferflux::server
