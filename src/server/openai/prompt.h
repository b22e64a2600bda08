// From a checked request to the tokens that a model is prompted with.
#pragma once

#include <boost/json/array.hpp>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "server/openai/chat_request.h"
#include "server/request/api_error.h"
#include "server/request/raw_prompt.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

// The messages in the model's own chat template; text of the request cannot become a control token.
ApiResult<std::vector<TokenId>> ChatPrompt(const serving::ServedModel& model, ChatRequest& request);

// Text gets the special tokens that the model's file wants around it; ids are taken as they are. `param` names the
// prompt.
ApiResult<std::vector<TokenId>> RawPromptTokens(const serving::ServedModel& model, const RawPrompt& prompt,
                                                std::string_view param);

}  // namespace inferflux::server
