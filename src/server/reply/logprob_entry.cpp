#include "server/reply/logprob_entry.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdint>
#include <utility>

#include "unicode/utf8.h"

namespace inferflux::server {
namespace json = boost::json;

double FiniteLogprob(float logprob) { return std::max(logprob, -9999.0f); }

std::string PrintableToken(std::string_view bytes) { return unicode::ReplaceInvalidUtf8(bytes); }

json::object DescribeLogprob(const scheduler::TokenLogprob& token) {
  json::array bytes;
  for (const char byte : token.bytes) bytes.push_back(static_cast<uint8_t>(byte));
  json::object out;
  out["token"] = PrintableToken(token.bytes);
  out["logprob"] = FiniteLogprob(token.logprob);
  out["bytes"] = std::move(bytes);
  return out;
}

json::object DescribeLogprobs(const scheduler::GeneratedToken& token) {
  json::object out = DescribeLogprob(token.chosen);
  json::array top;
  for (const scheduler::TokenLogprob& other : token.top) top.push_back(DescribeLogprob(other));
  out["top_logprobs"] = std::move(top);
  return out;
}

}  // namespace inferflux::server
