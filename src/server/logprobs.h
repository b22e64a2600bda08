// Log probabilities in the two forms of the API.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <vector>

#include "scheduler/generation.h"

namespace inferflux::server {

// {"content": [{token, logprob, bytes, top_logprobs}], "refusal": null}
boost::json::object ChatLogprobs(const std::vector<scheduler::GeneratedToken>& tokens);

// {tokens, token_logprobs, top_logprobs, text_offset}; `offset` is the text's length so far in characters, and is moved
// on.
boost::json::object CompletionLogprobs(const std::vector<scheduler::GeneratedToken>& tokens, size_t& offset);

}  // namespace inferflux::server
