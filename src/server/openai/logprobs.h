// Log probabilities in the two formats of the API.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/generation.h"

namespace inferflux::server {

// {"content": [{token, logprob, bytes, top_logprobs}], "refusal": null}
boost::json::object ChatLogprobs(const std::vector<scheduler::GeneratedToken>& tokens);

// {tokens, token_logprobs, top_logprobs, text_offset}; `offset` is the length of the text so far, in characters, and is
// advanced.
boost::json::object CompletionLogprobs(const std::vector<scheduler::GeneratedToken>& tokens, size_t& offset);

// The same for a prompt. Its first token, given by its bytes, has no probability: nulls. At most `alternatives` for
// each.
boost::json::object EchoLogprobs(const std::string& first, const std::vector<scheduler::GeneratedToken>& rest,
                                 size_t alternatives, size_t& offset);

// [null, {"ID": {"logprob", "decoded_token"}, ...}, ...]: one entry for each token of the prompt, with the token and
// its alternatives.
boost::json::array PromptLogprobs(const std::vector<scheduler::GeneratedToken>& rest, size_t alternatives);

}  // namespace inferflux::server
