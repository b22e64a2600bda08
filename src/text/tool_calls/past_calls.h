// The calls in a conversation's messages, in the form that one model's chat template expects.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <string_view>

#include "text/tool_calls/template_calls.h"

namespace inferflux::text {

// Nine letters and digits for an id: always the same for the same id, and the id itself if it has that form.
std::string ShortId(std::string_view id);

// `messages` must have the common form: an empty text if there is no content, arguments as objects, results as separate
// messages.
void AdaptPastCalls(const TemplateCalls& calls, boost::json::array& messages);

}  // namespace inferflux::text
