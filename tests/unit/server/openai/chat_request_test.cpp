#include "server/openai/chat_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/request/request_testing.h"

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kHello = R"("messages":[{"role":"user","content":"Hello"}])";

std::string VerdictOn(std::string_view fields) {
  return Verdict(ParseChatRequest, fmt::format("{{{},{}}}", kHello, fields));
}
std::string VerdictOnMessages(std::string_view messages) {
  return Verdict(ParseChatRequest, fmt::format(R"({{"messages":{}}})", messages));
}
std::string MessagesOf(std::string_view messages) {
  const auto request = ParseChatRequest(*ParseJsonBody(fmt::format(R"({{"messages":{}}})", messages)));
  return request ? boost::json::serialize(request->chat.messages) : request.error().message;
}

TEST(ChatMessagesTest, PartsOfTextAreJoinedAndDeveloperIsSystem) {
  EXPECT_EQ(MessagesOf(R"([{"role":"developer","content":"Be brief."},
                           {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"Ann"}])"),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"ab","name":"Ann"}])");
}

TEST(ChatMessagesTest, ArgumentsOfToolCallsBecomeObjectsInTheirOrder) {
  EXPECT_EQ(
      MessagesOf(R"([{"role":"user","content":"x"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
        "function":{"name":"f","arguments":"{\"z\":1,\"a\":[2]}"}}]},
      {"role":"tool","tool_call_id":"c1","content":"42"}])"),
      R"([{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",)"
      R"("function":{"name":"f","arguments":{"z":1,"a":[2]}}}]},{"role":"tool","content":"42","tool_call_id":"c1"}])");
}

TEST(ChatMessagesTest, BrokenMessagesAreNamedExactly) {
  for (const auto& [messages, param] :
       {std::pair{"[]", "messages"},
        {"{}", "messages"},
        {"[5]", "messages[0]"},
        {R"([{"content":"a"}])", "messages[0].role"},
        {R"([{"role":"king","content":"a"}])", "messages[0].role"},
        {R"([{"role":"user"}])", "messages[0].content"},
        {R"([{"role":"user","content":null}])", "messages[0].content"},
        {R"([{"role":"user","content":5}])", "messages[0].content"},
        {R"([{"role":"user","content":"a"},{"role":"user","content":"a","colour":1}])", "messages[1].colour"},
        {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
         "messages[0].content[0].type"},
        {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
        {R"([{"role":"user","content":[{"type":"text","text":"a","x":1}]}])", "messages[0].content[0].x"},
        {R"([{"role":"user","content":"a","tool_calls":[]}])", "messages[0].tool_calls"},
        {R"([{"role":"user","content":"a","tool_call_id":"x"}])", "messages[0].tool_call_id"},
        {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}])",
         "messages[0].tool_calls[0].function.arguments"},
        {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[]"}}]}])",
         "messages[0].tool_calls[0].function.arguments"},
        {R"([{"role":"assistant","tool_calls":[{"id":"x"}]}])", "messages[0].tool_calls[0].function"}}) {
    EXPECT_THAT(VerdictOnMessages(messages), StartsWith(std::string(param) + ": ")) << messages;
  }
  EXPECT_THAT(Verdict(ParseChatRequest, "{}"), StartsWith("messages: "));
}

TEST(ChatRequestTest, ToolsAreCheckedAndPassedOnAsTheyCame) {
  const std::string tools =
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{}}}}])";
  const auto parse = [&](std::string_view more) {
    return ParseChatRequest(*ParseJsonBody(fmt::format(R"({{{},"tools":{}{}}})", kHello, tools, more)));
  };
  EXPECT_EQ(boost::json::serialize(parse("")->chat.tools), tools);
  EXPECT_TRUE(parse(R"(,"tool_choice":"none")")->chat.tools.empty());
  EXPECT_FALSE(parse(R"(,"tool_choice":"auto")")->chat.tools.empty());
  EXPECT_THAT(VerdictOn(R"("tools":[{"type":"function"}])"), StartsWith("tools[0].function: "));
  EXPECT_THAT(VerdictOn(R"("tools":[{"type":"web_search"}])"), StartsWith("tools[0].type: "));
  EXPECT_THAT(VerdictOn(R"("tools":[{"type":"function","function":{"name":"f","strict":1}}])"),
              StartsWith("tools[0].function.strict: "));
}

TEST(ChatRequestTest, WhatIsAskedOfCallsBecomesAGrammar) {
  const std::string kTwo = R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},)"
                           R"({"type":"function","function":{"name":"g","strict":true}}])";
  const auto parse = [&](std::string_view more) {
    return ParseChatRequest(*ParseJsonBody(fmt::format("{{{},{}{}}}", kHello, kTwo, more)));
  };
  const auto spec = [&](std::string_view more) { return parse(more)->grammar->tool_calls; };
  const auto required = spec(R"(,"tool_choice":"required")");
  EXPECT_TRUE(required.forced && required.several);
  ASSERT_EQ(required.tools.size(), 2u);
  EXPECT_EQ(required.tools[0].parameters, R"({"type":"object"})");
  EXPECT_THAT(required.tools[1].parameters, HasSubstr(R"("additionalProperties":false)")) << "it takes none";
  EXPECT_FALSE(spec(R"(,"tool_choice":"required","parallel_tool_calls":false)").several);
  const auto named = spec(R"(,"tool_choice":{"type":"function","function":{"name":"g"}})");
  ASSERT_EQ(named.tools.size(), 1u);
  EXPECT_TRUE(named.forced && !named.several && named.tools[0].name == "g");
  const auto strict = spec("");
  EXPECT_TRUE(!strict.forced && strict.several);
  EXPECT_EQ(strict.tools[0].parameters, "") << "not strict: any object";
  EXPECT_NE(strict.tools[1].parameters, "");
  EXPECT_FALSE(parse(R"(,"tool_choice":"none")")->grammar.has_value());
  EXPECT_EQ(VerdictOn(R"("parallel_tool_calls":false)"), "ok") << "nothing is offered, nothing is called";

  for (const char* choice :
       {R"("always")", "5", R"({"type":"function"})", R"({"type":"custom","function":{"name":"f"}})",
        R"({"type":"function","function":{"name":"h"}})"}) {
    EXPECT_EQ(parse(fmt::format(R"(,"tool_choice":{})", choice)).error().param, "tool_choice") << choice;
  }
  EXPECT_THAT(VerdictOn(R"("tool_choice":"required")"), StartsWith("tool_choice: "));
  EXPECT_EQ(parse(R"(,"response_format":{"type":"json_object"})").error().param, "response_format");
}

TEST(ChatRequestTest, WhatIsNotServedYetIsRefusedByName) {
  for (const auto& [fields, param] : {std::pair{R"("functions":[])", "functions"},
                                      {R"("modalities":["audio"])", "modalities"},
                                      {R"("reasoning_effort":"huge")", "reasoning_effort"},
                                      {R"("thinking_token_budget":-1)", "thinking_token_budget"},
                                      {R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs.messages"},
                                      {R"("chat_template_kwargs":{"bos_token":"x"})", "chat_template_kwargs.bos_token"},
                                      {R"("store":1)", "store"},
                                      {R"("metadata":"x")", "metadata"},
                                      {R"("prompt":"x")", "prompt"}}) {
    EXPECT_THAT(VerdictOn(fields), StartsWith(std::string(param) + ": ")) << fields;
  }
  EXPECT_EQ(VerdictOn(R"("response_format":{"type":"text"},"modalities":["text"],"store":true,"service_tier":"flex",
                       "metadata":{"a":"b"},"verbosity":"low","safety_identifier":"x","prompt_cache_key":"k",
                       "reasoning_effort":"low","chat_template_kwargs":{"enable_thinking":false})"),
            "ok");
}

TEST(ChatRequestTest, ThePeersNameOfAFieldIsTranslated) {
  EXPECT_THAT(VerdictOn(R"("guided_choice":["a"])"), HasSubstr("here it is 'structured_outputs.choice'"));
  EXPECT_THAT(VerdictOn(R"("n_predict":5)"), HasSubstr("here it is 'max_tokens'"));
  EXPECT_THAT(VerdictOn(R"("thinking_budget":5)"), HasSubstr("here it is 'thinking_token_budget'"));
  EXPECT_THAT(VerdictOn(R"("system":"x")"), HasSubstr("here it is a message with the role"));
  EXPECT_THAT(VerdictOn(R"("prompt":"x")"), HasSubstr("here it is 'messages'"));
  EXPECT_THAT(VerdictOn(R"("temprature":1)"), HasSubstr("did you mean 'temperature'?"));
  EXPECT_THAT(VerdictOn(R"("mesages":[])"), HasSubstr("did you mean 'messages'?"));
}

TEST(ChatRequestTest, AllowedToolsLeaveTheOthersOut) {
  const auto parse = [](const char* choice) {
    return ParseChatRequest(*ParseJsonBody(fmt::format(
        R"({{{},"tools":[{{"type":"function","function":{{"name":"f"}}}},{{"type":"function","function":{{"name":"g"}}}}],
        "tool_choice":{}}})",
        kHello, choice)));
  };
  const auto chat = parse(R"({"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[
      {"type":"function","function":{"name":"g"}}]}})");
  ASSERT_TRUE(chat) << chat.error().message;
  ASSERT_EQ(chat->chat.functions.size(), 1u);
  EXPECT_EQ(chat->chat.functions[0].name, "g");
  EXPECT_EQ(chat->chat.tools.size(), 1u);
  EXPECT_TRUE(chat->grammar && chat->grammar->tool_calls.forced);
  EXPECT_FALSE(parse(R"({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
      {"type":"function","function":{"name":"h"}}]}})"));
}

TEST(ChatRequestTest, ReasoningSettingsReachTheTemplate) {
  const auto chat = ParseChatRequest(*ParseJsonBody(fmt::format(
      R"({{{},"reasoning_effort":"high","thinking_token_budget":7,"chat_template_kwargs":{{"thinking":false,"x":1}}}})",
      kHello)));
  ASSERT_TRUE(chat) << chat.error().message;
  EXPECT_EQ(chat->chat.reasoning.effort, "high");
  EXPECT_EQ(chat->chat.reasoning.budget, 7);
  EXPECT_EQ(chat->chat.reasoning.enabled, false);
  EXPECT_EQ(chat->chat.template_variables.at("x"), 1);
}

TEST(ChatRequestTest, TheTwoNamesOfTheTokenLimitMustAgree) {
  EXPECT_EQ(VerdictOn(R"("max_tokens":5,"max_completion_tokens":5)"), "ok");
  EXPECT_THAT(VerdictOn(R"("max_tokens":5,"max_completion_tokens":6)"), StartsWith("max_tokens: "));
  EXPECT_EQ(ParseChatRequest(*ParseJsonBody(fmt::format(R"({{{},"max_completion_tokens":7}})", kHello)))->max_tokens,
            7);
}

TEST(ChatRequestTest, TopLogprobsNeedLogprobs) {
  EXPECT_THAT(VerdictOn(R"("top_logprobs":2)"), StartsWith("top_logprobs: "));
  EXPECT_EQ(VerdictOn(R"("top_logprobs":20,"logprobs":true)"), "ok");
  EXPECT_THAT(VerdictOn(R"("top_logprobs":21,"logprobs":true)"), StartsWith("top_logprobs: "));
  EXPECT_THAT(VerdictOn(R"("logprobs":2)"), StartsWith("logprobs: "));
}

}  // namespace
}  // namespace inferflux::server
