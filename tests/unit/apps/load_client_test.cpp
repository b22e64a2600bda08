// What counts as a request that a server has answered, on scripted answers.
#include "apps/inferctl/bench/load_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "net/server.h"

namespace inferflux::apps {
namespace {

using ::testing::HasSubstr;

// The record of one request for 3 tokens, which a server answers with these chunks.
RequestRecord Answered(const std::string& chunks, bool ends = true) {
  net::Router router;
  const std::string body = chunks + (ends ? "data: [DONE]\n\n" : "");
  router.Add("POST", "/v1/completions",
             [&body](const net::Request&, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
               co_await writer.Send({200, "text/event-stream", body});
             });
  const auto server = net::Server::Start({}, std::move(router));
  EXPECT_TRUE(server) << server.error().message;
  ApiClient client(net::ServerAddress{"127.0.0.1", (*server)->port(), ""}, "");
  return RunRequest(client, {.max_tokens = 3}, {1, 2});
}

std::string Piece(const std::string& text) { return "data: {\"choices\":[{\"text\":\"" + text + "\"}]}\n\n"; }
std::string Finish(const std::string& reason, int tokens) {
  return "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"" + reason +
         "\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":" +
         std::to_string(tokens) + ",\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n";
}

TEST(LoadClient, AnAnswerOfAsManyTokensAsWereAskedForCounts) {
  const RequestRecord record = Answered(Piece("a") + Piece("b") + Piece("c") + Finish("length", 3));
  EXPECT_EQ(record.failure, "");
  EXPECT_GT(record.first_token, 0.0);
  EXPECT_EQ(record.gaps.size(), 2u) << "between three pieces";
  EXPECT_EQ(record.prompt_tokens, 2);
  EXPECT_EQ(record.cached_tokens, 1);
  EXPECT_EQ(record.output_tokens, 3);
}

TEST(LoadClient, AFastServerWithoutTheAskedForContentHasFailed) {
  EXPECT_THAT(Answered(Finish("length", 3)).failure, HasSubstr("no text"));
  EXPECT_THAT(Answered(Piece("a") + Finish("stop", 3)).failure, HasSubstr("'stop', not 'length'"));
  EXPECT_THAT(Answered(Piece("a") + Finish("length", 2)).failure, HasSubstr("2 of 3 tokens"));
  EXPECT_THAT(Answered(Piece("a") + Finish("length", 4)).failure, HasSubstr("4 of 3 tokens"));
  EXPECT_NE(Answered(Piece("a") + Finish("length", 3), false).failure, "") << "the stream was cut";
}

}  // namespace
}  // namespace inferflux::apps
