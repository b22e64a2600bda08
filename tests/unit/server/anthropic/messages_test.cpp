// Anthropic's API over HTTP, on a model with scripted answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <fstream>
#include <string>
#include <string_view>

#include "net/sse.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StreamEvent StoppedAt(std::string stop) {
  StreamEvent out = End(FinishReason::kStop, 9, 3);
  out.finish->usage.cached_tokens = 4;
  out.finish->stop_string = std::move(stop);
  return out;
}

void SayHello(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Hel"));
  stream.Push(Piece("lo"));
  stream.Push(StoppedAt(";"));
}

void CallTool(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Let me look. <tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>"));
  stream.Push(End(FinishReason::kStop, 9, 3));
}

std::string Body(const std::string& more = "") {
  return R"({"model":"fake","max_tokens":5,"messages":[{"role":"user","content":"Hi"}])" + more + "}";
}
const std::string kTools = R"(,"tools":[{"name":"f","input_schema":{"type":"object"}}])";

struct Events {
  std::vector<std::string> names;
  std::vector<boost::json::object> data;
};

Events EventsOf(const std::string& body) {
  Events out;
  net::SseParser parser;
  EXPECT_TRUE(parser.Feed(body, [&](const net::SseParser::Event& event) {
    out.names.push_back(event.name);
    out.data.push_back(boost::json::parse(event.data).as_object());
    EXPECT_EQ(event.name, std::string_view(out.data.back().at("type").as_string()));
  }));
  return out;
}

TEST(MessagesTest, AWholeMessage) {
  FakeServer fake(SayHello);
  const auto response = fake.Post("/v1/messages", Body(R"(,"stop_sequences":[";"],"system":"Be brief.")"));
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(net::FindHeader(response.headers, "request-id").empty());
  auto message = boost::json::parse(response.body).as_object();
  EXPECT_THAT(std::string(message.at("id").as_string()), ::testing::StartsWith("msg_"));
  message.erase("id");
  EXPECT_EQ(message, boost::json::parse(R"({"type":"message","role":"assistant","model":"fake",
    "content":[{"type":"text","text":"Hello"}],"stop_reason":"stop_sequence","stop_sequence":";",
    "usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3}})"));
  const GenerationRequest request = fake.scheduler->requests().back();
  EXPECT_EQ(request.stop, std::vector<std::string>{";"});
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(ByteTokenizer()->Decode(request.prompt), "system: Be brief.\nuser: Hi\n>");
}

TEST(MessagesTest, AStreamBuildsTheSameMessage) {
  FakeServer fake(SayHello);
  const auto response = fake.Post("/v1/messages", Body(R"(,"stream":true)"));
  const Events events = EventsOf(response.body);
  EXPECT_EQ(events.names.front(), "message_start");
  EXPECT_EQ(events.names[1], "content_block_start");
  std::string text;
  for (const auto& event : events.data) {
    if (event.at("type") == "content_block_delta") text += event.at("delta").at("text").as_string();
  }
  EXPECT_EQ(text, "Hello");
  ASSERT_GE(events.names.size(), 3u);
  EXPECT_EQ(events.names[events.names.size() - 3], "content_block_stop");
  EXPECT_EQ(events.names.back(), "message_stop");
  const auto& delta = events.data[events.data.size() - 2];
  EXPECT_EQ(delta.at("delta").at("stop_reason"), "stop_sequence");
  EXPECT_EQ(delta.at("delta").at("stop_sequence"), ";");
  EXPECT_EQ(delta.at("usage").at("output_tokens"), 3);
}

TEST(MessagesTest, CallsOfToolsAreBlocks) {
  FakeServer fake(CallTool);
  const auto message = fake.PostJson("/v1/messages", Body(kTools));
  const auto& content = message.at("content").as_array();
  ASSERT_EQ(content.size(), 2u) << boost::json::serialize(message);
  EXPECT_THAT(std::string(content[0].at("text").as_string()), HasSubstr("Let me look."));
  EXPECT_EQ(content[1].at("type"), "tool_use");
  EXPECT_EQ(content[1].at("input"), boost::json::parse(R"({"x":1})"));
  EXPECT_EQ(message.at("stop_reason"), "tool_use");

  const Events events = EventsOf(fake.Post("/v1/messages", Body(kTools + R"(,"stream":true)")).body);
  EXPECT_THAT(events.names, ElementsAre("message_start", "content_block_start", "content_block_delta",
                                        "content_block_stop", "content_block_start", "content_block_delta",
                                        "content_block_stop", "message_delta", "message_stop"));
  EXPECT_EQ(events.data[4].at("index"), 1);
  EXPECT_EQ(events.data[4].at("content_block").at("name"), "f");
  EXPECT_EQ(boost::json::parse(events.data[5].at("delta").at("partial_json").as_string()),
            boost::json::parse(R"({"x":1})"));
  EXPECT_EQ(events.data[7].at("delta").at("stop_reason"), "tool_use");
}

TEST(MessagesTest, ErrorsHaveThisApisShape) {
  FakeServer fake(SayHello);
  const auto error = [](const net::ClientResponse& response, int status) {
    EXPECT_EQ(response.status, status) << response.body;
    const auto body = boost::json::parse(response.body);
    EXPECT_EQ(body.at("type"), "error");
    EXPECT_EQ(std::string_view(body.at("request_id").as_string()), net::FindHeader(response.headers, "request-id"));
    return std::string(body.at("error").at("type").as_string()) + ": " +
           std::string(body.at("error").at("message").as_string());
  };
  EXPECT_THAT(error(fake.Post("/v1/messages", "{}"), 400), HasSubstr("invalid_request_error: 'max_tokens' is missing"));
  EXPECT_THAT(
      error(fake.Post("/v1/messages", R"({"model":"x","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]})"),
            404),
      HasSubstr("not_found_error: "));
  EXPECT_THAT(error(fake.Post("/v1/messages", Body(), {{"anthropic-version", "2020-01-01"}}), 400),
              HasSubstr("2023-06-01"));
  for (const char* version : {"2023-06-01", "2026-10-21"}) {
    EXPECT_EQ(fake.Post("/v1/messages", Body(), {{"anthropic-version", version}}).status, 200) << version;
  }
  fake.scheduler->refusal = Error{ErrorCode::kResourceExhausted, "the queue is full"};
  EXPECT_EQ(error(fake.Post("/v1/messages", Body()), 429), "rate_limit_error: the queue is full");
  fake.scheduler->refusal = Error{ErrorCode::kUnavailable, "stopping"};
  EXPECT_EQ(error(fake.Post("/v1/messages", Body()), 529), "overloaded_error: stopping");
}

TEST(MessagesTest, WhatNoHandlerSeesHasThisApisShapeToo) {
  FakeServer fake(SayHello);
  EXPECT_THAT(fake.Get("/v1/messages?beta=true").body, HasSubstr(R"({"type":"error","error":)"));
  EXPECT_THAT(fake.Post("/v1/messages/batches", "{}").body, HasSubstr("not_found_error"));
  const auto large = fake.Post("/v1/messages", std::string((32u << 20) + 1, ' '));
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.body, HasSubstr("request_too_large"));
  const auto elsewhere = boost::json::parse(fake.Get("/v1/nothing").body).as_object();
  EXPECT_FALSE(elsewhere.contains("type")) << "OpenAI's shape is the usual one";
}

TEST(MessagesTest, AnErrorEndsAStreamWithItsEvent) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("Hel"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    StreamEvent last;
    last.finish = scheduler::Finish{FinishReason::kError, {ErrorCode::kInternal, "the device is gone"}, {}};
    stream.Push(std::move(last));
  });
  const Events events = EventsOf(fake.Post("/v1/messages", Body(R"(,"stream":true)")).body);
  EXPECT_EQ(events.names.back(), "error");
  EXPECT_EQ(events.data.back().at("error").at("type"), "api_error");
  EXPECT_EQ(events.data.back().at("error").at("message"), "the device is gone");
  for (const std::string& name : events.names) EXPECT_NE(name, "message_stop");
}

TEST(MessagesTest, TheKeyComesInItsOwnHeaderOrAsABearer) {
  const std::string path = ::testing::TempDir() + "anthropic-keys";
  // printf %s secret | sha256sum
  std::ofstream(path) << "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n";
  auto keys = server::ApiKeys::Load(path);
  ASSERT_TRUE(keys) << keys.error().message;
  FakeServer fake(SayHello, *keys);
  EXPECT_EQ(fake.Post("/v1/messages", Body(), {{"x-api-key", "secret"}}).status, 200);
  EXPECT_EQ(fake.Post("/v1/messages", Body(), "Bearer secret").status, 200);
  const auto refused = fake.Post("/v1/messages", Body(), {{"x-api-key", "wrong"}});
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("authentication_error"));
  EXPECT_EQ(fake.Post("/v1/chat/completions", R"({"messages":[]})", {{"x-api-key", "secret"}}).status, 401)
      << "OpenAI's paths take no such header";
}

TEST(CountTokensTest, CountsThePromptWithItsTemplate) {
  FakeServer fake(SayHello);
  const auto count = [&](const std::string& more) {
    return fake.PostJson("/v1/messages/count_tokens",
                         R"({"model":"fake","messages":[{"role":"user","content":"Hi"}])" + more + "}");
  };
  EXPECT_EQ(count("").at("input_tokens"), std::string("user: Hi\n>").size()) << "a token a byte";
  EXPECT_EQ(count(kTools).at("input_tokens"), std::string("user: Hi\n[1 tools]>").size());
  EXPECT_EQ(count(R"(,"max_tokens":5)").at("type"), "error");
  EXPECT_TRUE(fake.scheduler->requests().empty()) << "nothing is generated";
}

}  // namespace
}  // namespace inferflux::testing
