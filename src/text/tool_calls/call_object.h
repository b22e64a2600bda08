// The JSON of a call, as the parser finds it and as a form says that it is.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "text/tool_calls/tool_call_form.h"

namespace inferflux::text {

// The call that an object of a kObject form holds; none where it is something else. Arguments may be left out.
std::optional<FoundToolCall> CallOf(const ToolCallForm& form, const boost::json::object& object);

// The value of an argument that stood between tags: text where its schema wants text, or has no room for the JSON that
// the text is; otherwise that JSON. `schema`: null where there is none.
boost::json::value TaggedValue(std::string_view text, const boost::json::value* schema);

}  // namespace inferflux::text
