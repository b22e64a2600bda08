// The body of POST /v1/completions, checked and plain. The prompt is raw: no template wraps it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/generation_fields.h"
#include "server/raw_prompt.h"

namespace inferflux::server {

struct CompletionRequest : GenerationFields {
  std::vector<RawPrompt> prompts;  // one or more; with n choices each
  std::optional<int64_t> logprobs;
};

// max_tokens is the API's own default, 16, where the request has none.
ApiResult<CompletionRequest> ParseCompletionRequest(const boost::json::object& body);

}  // namespace inferflux::server
