// One token with its log probability, in the form that most APIs share.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "scheduler/generation.h"

namespace inferflux::server {

// JSON has no infinity; the lowest value is -9999.
double FiniteLogprob(float logprob);

// The text of a token, which may hold only part of a character. Invalid UTF-8 becomes U+FFFD.
std::string PrintableToken(std::string_view bytes);

// {"token": ..., "logprob": ..., "bytes": [...]}
boost::json::object DescribeLogprob(const scheduler::TokenLogprob& token);

// The same with its alternatives in "top_logprobs".
boost::json::object DescribeLogprobs(const scheduler::GeneratedToken& token);

}  // namespace inferflux::server
