#include "server/openai/next_tokens/next_tokens_reply.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <utility>

namespace inferflux::server {
namespace {

namespace json = boost::json;

// The parameter that the reply names, and its status.
std::pair<json::value, int> Refused(int status, const std::string& param) {
  const net::Response response = NextTokensReply("m").Refusal({.status = status, .message = "no", .param = param});
  return {json::parse(response.body).at("error").at("param"), response.status};
}

TEST(NextTokensReplyTest, WhatTheStepRefusesIsThePrefix) {
  EXPECT_EQ(Refused(400, ""), std::pair(json::value("prefix"), 400));
  EXPECT_EQ(Refused(400, "top"), std::pair(json::value("top"), 400)) << "the field that was refused before";
  EXPECT_EQ(Refused(503, ""), std::pair(json::value(nullptr), 503)) << "the client's text is not to blame";
}

}  // namespace
}  // namespace inferflux::server
