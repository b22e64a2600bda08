// Prompts without a template: one or several strings or lists of token ids.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"
#include "serving/generation/chat_prompt.h"

namespace inferflux::server {

using serving::RawPrompt;

// A string, a list of strings, a list of token ids, or a list of such lists: at least one prompt and at most
// `max_prompts`.
ApiResult<std::vector<RawPrompt>> ReadRawPrompts(const boost::json::value& value, std::string_view param,
                                                 size_t max_prompts);

}  // namespace inferflux::server
