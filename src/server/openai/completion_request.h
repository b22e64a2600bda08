// The parsed and checked body of POST /v1/completions. The prompt is raw: no template is applied.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/openai/fields/generation_fields.h"
#include "server/openai/fields/raw_prompts.h"
#include "server/reply/field_rows.h"

namespace inferflux::server {

// After parsing, top_logprobs and prompt_logprobs of the spec hold the values to compute for both fields and `echo`.
struct CompletionRequest : GenerationFields {
  std::vector<RawPrompt> prompts;  // at least one, each with n choices
  std::optional<int64_t> logprobs;
  std::optional<int64_t> shown_prompt_logprobs;  // the field prompt_logprobs
  bool echo = false;
  std::string suffix;  // the answer goes between prompt and suffix
  std::optional<int64_t> best_of;
  int32_t kept_choices = 1;  // `choices` is best_of; this many of a prompt's answers are sent
};

// If the request has no max_tokens, the API's default of 16 applies.
ApiResult<CompletionRequest> ParseCompletionRequest(const boost::json::object& body);

// Its fields, for the documentation.
std::vector<FieldRow> CompletionFieldRows();

}  // namespace inferflux::server
