// The body of POST /v1/completions, checked and plain. The prompt is raw: no template wraps it.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/request/generation_fields.h"
#include "server/request/raw_prompt.h"

namespace inferflux::server {

struct CompletionRequest : GenerationFields {
  std::vector<RawPrompt> prompts;  // one or more; with n choices each
  std::optional<int64_t> logprobs;
  std::optional<int64_t> prompt_logprobs;
  bool echo = false;

  // Alternatives that are wanted for the prompt's tokens; none: not even their own log probabilities.
  std::optional<int64_t> prompt_alternatives() const {
    const auto echoed = echo ? logprobs : std::nullopt;
    return std::max(prompt_logprobs, echoed);  // nothing is less than any number
  }
};

// max_tokens is the API's own default, 16, where the request has none.
ApiResult<CompletionRequest> ParseCompletionRequest(const boost::json::object& body);

}  // namespace inferflux::server
