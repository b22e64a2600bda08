// The body of POST /v1/completions, checked and plain. The prompt is raw: no template wraps it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/openai/fields/generation_fields.h"
#include "server/openai/fields/raw_prompts.h"

namespace inferflux::server {

// After parsing, top_logprobs and prompt_logprobs of the spec hold what is to be computed for both fields and `echo`.
struct CompletionRequest : GenerationFields {
  std::vector<RawPrompt> prompts;  // one or more; with n choices each
  std::optional<int64_t> logprobs;
  std::optional<int64_t> shown_prompt_logprobs;  // the field prompt_logprobs
  bool echo = false;
};

// max_tokens is the API's own default, 16, where the request has none.
ApiResult<CompletionRequest> ParseCompletionRequest(const boost::json::object& body);

}  // namespace inferflux::server
