// The JSON of a call, as the parser finds it and as a format defines it.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::text {

// The call in an object of a kObject syntax; none if the object is something else. Arguments may be omitted.
std::optional<FoundToolCall> CallOf(const ToolCallSyntax& syntax, const boost::json::object& object);

// The value of an argument between tags: text if its schema expects text, or does not allow the JSON that the text
// would be; otherwise that JSON. `schema`: null if there is none.
boost::json::value TaggedValue(std::string_view text, const boost::json::value* schema);

}  // namespace inferflux::text
