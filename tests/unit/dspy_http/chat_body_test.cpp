// What is sent to servers of OpenAI's API, and what is read of their answers.
#include "dspy_http/chat_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace inferflux::dspy {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

TEST(ChatBodyTest, EverySettingHasItsField) {
  LmRequest request{.messages = {{"system", "Be brief."}, {"user", "Hi"}}};
  request.sampling = {.max_tokens = 5,
                      .temperature = 0.5,
                      .top_p = 0.25,
                      .top_k = 3,
                      .min_p = 0.125,
                      .repeat_penalty = 1.25,
                      .seed = 7,
                      .stop = {"x", "y"}};
  EXPECT_EQ(json::value(RequestBody(request, {.model = "m"}, false)), json::parse(R"({"model":"m",
      "messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],
      "max_tokens":5,"temperature":0.5,"top_p":0.25,"top_k":3,"min_p":0.125,"repetition_penalty":1.25,"seed":7,
      "stop":["x","y"]})"));
}

TEST(ChatBodyTest, WhatIsNotSetIsNotSent) {
  EXPECT_EQ(json::value(RequestBody({.prompt = "Once"}, {}, false)), json::parse(R"({"prompt":"Once"})"));
  EXPECT_EQ(json::value(RequestBody({.prompt = "Once"}, {}, true)),
            json::parse(R"({"prompt":"Once","stream":true,"stream_options":{"include_usage":true}})"));
}

TEST(ChatBodyTest, EachKindOfConstraintHasItsForm) {
  const auto sent = [](Constraint::Kind kind, const char* source) {
    LmRequest request{.prompt = "p"};
    request.constraint = Constraint{.kind = kind, .source = source};
    json::object out = RequestBody(request, {}, false);
    out.erase("prompt");
    return json::value(std::move(out));
  };
  EXPECT_EQ(sent(Constraint::Kind::kRegex, "a+"), json::parse(R"({"structured_outputs":{"regex":"a+"}})"));
  EXPECT_EQ(sent(Constraint::Kind::kGbnf, "root ::= \"a\""),
            json::parse(R"({"structured_outputs":{"grammar":"root ::= \"a\""}})"));
  EXPECT_EQ(sent(Constraint::Kind::kJsonSchema, R"({"type":"object"})"),
            json::parse(R"({"response_format":{"type":"json_schema",
                "json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}}})"));
  EXPECT_EQ(sent(Constraint::Kind::kJsonSchema, "{"), json::parse(R"({"response_format":{"type":"json_schema",
                "json_schema":{"name":"answer","schema":{},"strict":true}}})"));
}

TEST(ChatBodyTest, AnAnswerIsReadWithItsUsage) {
  const auto chat = ReadAnswer(R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"},
      {"message":{"content":"other"}}],
      "usage":{"prompt_tokens":5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}})");
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->text, "Hi");
  EXPECT_EQ(chat->finish, FinishReason::kStop);
  EXPECT_EQ(chat->usage.prompt, 5u);
  EXPECT_EQ(chat->usage.cached, 2u);
  EXPECT_EQ(chat->usage.completion, 3u);
  const auto completion =
      ReadAnswer(R"({"choices":[{"text":"upon","finish_reason":"length"}],"usage":{"prompt_tokens":-5}})");
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->text, "upon");
  EXPECT_EQ(completion->finish, FinishReason::kLength);
  EXPECT_EQ(completion->usage.prompt, 0u);
}

TEST(ChatBodyTest, WhatIsNullIsNotThere) {
  const auto answer = ReadAnswer(
      R"({"choices":[{"message":{"content":null,"tool_calls":null},"finish_reason":null}],"usage":null,"error":null})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, "");
  EXPECT_EQ(answer->finish, FinishReason::kStop);
  EXPECT_TRUE(answer->tool_calls.empty());
  EXPECT_EQ(answer->usage.prompt, 0u);
  LmResponse out;
  ASSERT_TRUE(AddEvent(R"({"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}})", out));
  ASSERT_TRUE(AddEvent(R"({"choices":[{"delta":{"content":null},"finish_reason":null}],"usage":null})", out));
  EXPECT_EQ(out.usage.prompt, 4u) << "what was told stays";
  EXPECT_EQ(out.text, "");
  EXPECT_EQ(out.finish, FinishReason::kStop);
}

TEST(ChatBodyTest, WhatIsNoAnswerIsQuotedUpTo300Bytes) {
  for (const char* wrong : {"<html>", "[]", "{}", R"({"choices":[]})", R"({"choices":{}})"}) {
    const auto read = ReadAnswer(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code, ErrorCode::kInferenceFailed);
    EXPECT_THAT(read.error().message, HasSubstr(wrong));
  }
  const auto read = ReadAnswer(std::string(1000, '#'));
  EXPECT_THAT(read.error().message, ::testing::EndsWith(": " + std::string(300, '#')));
}

TEST(ChatBodyTest, ACallThatWasCutIsLeftOut) {
  const auto answer = [](const char* arguments, const char* reason) {
    return ReadAnswer(std::string(R"({"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":")") +
                      arguments + R"("}}]},"finish_reason":")" + reason + "\"}]}");
  };
  const auto whole = answer(R"({\"a\":1})", "tool_calls");
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->tool_calls.size(), 1u);
  EXPECT_EQ(whole->tool_calls[0].arguments.at("a"), 1);
  const auto cut = answer(R"({\"a\":)", "length");
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->tool_calls.empty());
  for (const char* wrong : {R"({\"a\":)", "[1]"}) {
    const auto refused = answer(wrong, "tool_calls");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kParseFailed);
    EXPECT_THAT(refused.error().message, HasSubstr("'f'"));
  }
  const std::string list = "[" + std::string(400, '1') + "]";
  EXPECT_EQ(answer(list.c_str(), "tool_calls").error().message,
            "the model called the tool 'f' with arguments that are no JSON object: " + list.substr(0, 300));
  EXPECT_FALSE(answer("[1]", "length")) << "whole, and no object";
}

TEST(ChatBodyTest, EventsAddUp) {
  LmResponse out;
  EXPECT_EQ(AddEvent(R"({"choices":[{"delta":{"content":"On"}}]})", out).value(), "On");
  EXPECT_EQ(AddEvent(R"({"choices":[{"text":"ce"}]})", out).value(), "ce");
  EXPECT_EQ(AddEvent(R"({"choices":[{"delta":{},"finish_reason":"length"}]})", out).value(), "");
  EXPECT_EQ(AddEvent(R"({"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}})", out).value(), "");
  EXPECT_EQ(out.text, "Once");
  EXPECT_EQ(out.finish, FinishReason::kLength);
  EXPECT_EQ(out.usage.prompt, 4u);
  EXPECT_EQ(out.usage.completion, 2u);
  const auto failed = AddEvent(R"({"error":{"message":"the device is gone"}})", out);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInferenceFailed);
  EXPECT_THAT(failed.error().message, HasSubstr("the device is gone"));
  EXPECT_FALSE(AddEvent("[]", out));
  EXPECT_FALSE(AddEvent("{", out));
}

}  // namespace
}  // namespace inferflux::dspy
