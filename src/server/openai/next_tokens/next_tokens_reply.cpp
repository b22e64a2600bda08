#include "server/openai/next_tokens/next_tokens_reply.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

#include "server/reply/logprob_entry.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::object DescribeNext(const scheduler::TokenLogprob& token) {
  json::object out = DescribeLogprob(token);
  out["id"] = token.id;
  out["probability"] = std::exp(double{token.logprob});
  return out;
}

json::array DescribeAllowed(const scheduler::NextTokens& next) {
  json::array out;
  for (const scheduler::TokenLogprob& token : next.top) {
    json::object each = DescribeNext(token);
    const double share = std::exp(double{token.logprob} - std::log(next.allowed_probability));
    each["constrained_probability"] = next.allowed_probability > 0 ? std::min(share, 1.0) : 0.0;
    out.push_back(std::move(each));
  }
  return out;
}

// Both lists are of the same length, so the allowed ones among the likeliest of all are in the list of the allowed.
json::array DescribeUnconstrained(const scheduler::NextTokens& next) {
  json::array out;
  for (const scheduler::TokenLogprob& token : next.unconstrained) {
    json::object each = DescribeNext(token);
    each["allowed"] = std::ranges::find(next.top, token.id, &scheduler::TokenLogprob::id) != next.top.end();
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace

// A request whose prompt is refused has a parameter. What a step refuses is the prefix.
net::Response NextTokensReply::Refusal(const ApiError& error) const {
  ApiError named = error;
  if (named.status == 400 && named.param.empty()) named.param = "prefix";
  return ErrorResponse(named);
}

net::Response NextTokensReply::Whole(const std::vector<scheduler::StreamEvent>& answers, const ReplyTotals& totals) {
  if (answers.empty() || !answers.front().next_tokens) {
    return ErrorResponse(FromStatus(500, "the model's engine returned no scores"));
  }
  const scheduler::NextTokens& next = *answers.front().next_tokens;
  const scheduler::Usage& usage = totals.usage();
  json::object out;
  out["object"] = "next_tokens";
  out["model"] = model_;
  out["vocabulary"] = next.vocabulary;
  out["allowed"] = next.allowed;
  out["may_end"] = next.may_end;
  out["allowed_probability"] = next.allowed_probability;
  out["top"] = DescribeAllowed(next);
  out["unconstrained"] = DescribeUnconstrained(next);
  out["usage"] = {{"prompt_tokens", usage.prompt_tokens},
                  {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
  return net::Response(200, "application/json", json::serialize(out));
}

}  // namespace inferflux::server
