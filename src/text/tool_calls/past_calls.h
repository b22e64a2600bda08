// The calls of a conversation's messages, as one model's chat template takes them.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <string_view>

#include "text/tool_calls/template_calls.h"

namespace inferflux::text {

// Nine letters and digits that stand for an id: always the same for the same one, and itself where it is such.
std::string ShortId(std::string_view id);

// `messages` are as templates take them commonly: an empty text where there is no content, arguments as objects,
// results as messages of their own.
void AdaptPastCalls(const TemplateCalls& calls, boost::json::array& messages);

}  // namespace inferflux::text
