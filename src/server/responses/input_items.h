// The items that the Responses API takes as input, and the messages of chat templates that they become.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

struct InputItems {
  boost::json::array items;     // with ids, as they are listed and stored
  boost::json::array messages;  // in the format of chat templates
};

// A string, or a list of messages, function calls, their outputs, and reasoning. Images and files are errors that name
// them, and so are items of tools that this server does not run.
ApiResult<InputItems> ReadInputItems(const boost::json::value& value, std::string_view param);

// The messages that these items become. They must be valid, as ReadInputItems and the server's own output are.
boost::json::array MessagesOfItems(const boost::json::array& items);

}  // namespace inferflux::server
