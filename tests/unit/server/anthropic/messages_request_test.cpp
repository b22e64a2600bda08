#include "server/anthropic/messages_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/request/request_testing.h"

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kHi = R"("messages":[{"role":"user","content":"Hi"}])";

std::string VerdictOn(std::string_view fields) {
  return Verdict(ParseMessagesRequest, fmt::format(R"({{"model":"m","max_tokens":5,{},{}}})", kHi, fields));
}

// The template's input, or "param: message".
std::string MessagesOf(std::string_view messages, std::string_view more = "") {
  const auto body = ParseJsonBody(fmt::format(R"({{"model":"m","max_tokens":5,"messages":{}{}}})", messages, more));
  const auto request = ParseMessagesRequest(*body);
  if (!request) return request.error().param + ": " + request.error().message;
  return boost::json::serialize(request->chat.messages);
}

MessagesRequest Parse(std::string_view fields) {
  const auto body = ParseJsonBody(fmt::format(R"({{"model":"m","max_tokens":5,{},{}}})", kHi, fields));
  auto request = ParseMessagesRequest(*body);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message);
  return request ? std::move(*request) : MessagesRequest();
}

TEST(MessagesRequestTest, BlocksBecomeWhatTemplatesTake) {
  EXPECT_EQ(MessagesOf(R"([{"role":"user","content":"a"}])", R"(,"system":"Be brief.")"),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"a"}])");
  EXPECT_EQ(MessagesOf(R"([{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},
                         {"type":"text","text":"b"}]}])",
                       R"(,"system":[{"type":"text","text":"x"},{"type":"text","text":"y"}])"),
            R"([{"role":"system","content":"x\n\ny"},{"role":"user","content":"a\n\nb"}])");
  EXPECT_EQ(
      MessagesOf(R"([{"role":"user","content":"sum?"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I add."},
      {"type":"tool_use","id":"t1","name":"add","input":{"a":1}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"2"}]},
      {"type":"tool_result","tool_use_id":"t2","content":"no","is_error":true},{"type":"text","text":"So?"}]}])"),
      R"([{"role":"user","content":"sum?"},)"
      R"({"role":"assistant","content":"I add.","reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function",)"
      R"("function":{"name":"add","arguments":{"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"t1","content":"2"},{"role":"tool","tool_call_id":"t2","content":"Error: no"},)"
      R"({"role":"user","content":"So?"}])");
}

TEST(MessagesRequestTest, WrongMessagesAreNamed) {
  for (const auto& [messages, param] :
       {std::pair{"[]", "messages"},
        {"{}", "messages"},
        {R"([{"role":"king","content":"a"}])", "messages[0].role"},
        {R"([{"role":"user"}])", "messages[0].content"},
        {R"([{"role":"user","content":[]}])", "messages[0].content"},
        {R"([{"role":"user","content":[{"text":"a"}]}])", "messages[0].content[0].type"},
        {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
        {R"([{"role":"user","content":[{"type":"text","text":"a","colour":1}]}])", "messages[0].content[0].colour"},
        {R"([{"role":"user","content":[{"type":"image","source":{}}]}])", "messages[0].content[0].type"},
        {R"([{"role":"user","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]}])",
         "messages[0].content[0].type"},
        {R"([{"role":"user","content":[{"type":"tool_result","content":"a"}]}])", "messages[0].content[0].tool_use_id"},
        {R"([{"role":"assistant","content":"The answer is"}])", "messages[0]"},
        {R"([{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f"}]},{"role":"user","content":"a"}])",
         "messages[0].content[0].input"}}) {
    EXPECT_THAT(MessagesOf(messages), StartsWith(std::string(param) + ": ")) << messages;
  }
}

TEST(MessagesRequestTest, FieldsAreCheckedAndNoneIsIgnored) {
  EXPECT_THAT(Verdict(ParseMessagesRequest, fmt::format(R"({{"model":"m",{}}})", kHi)), StartsWith("max_tokens: "));
  EXPECT_THAT(Verdict(ParseMessagesRequest, fmt::format(R"({{"max_tokens":5,{}}})", kHi)), StartsWith("model: "));
  for (const auto& [fields, param] :
       {std::pair{R"("temprature":1)", "temprature"},
        {R"("temperature":"1")", "temperature"},
        {R"("stop_sequences":"a")", "stop_sequences"},
        {R"("stop_sequences":[""])", "stop_sequences[0]"},
        {R"("thinking":{"type":"disabled","budget_tokens":1024})", "thinking.budget_tokens"},
        {R"("metadata":{"colour":1})", "metadata.colour"},
        {R"("service_tier":"fast")", "service_tier"},
        {R"("container":"c")", "container"},
        {R"("stop":["a"])", "stop"},
        {R"("tools":[{"type":"web_search_20250305","name":"w"}])", "tools[0].type"},
        {R"("tools":[{"name":"f"}])", "tools[0].input_schema"},
        {R"("tools":[{"input_schema":{}}])", "tools[0].name"},
        {R"("output_config":{"effort":"low"})", "output_config.effort"},
        {R"("output_config":{"format":{"type":"json"}})", "output_config.format.type"},
        {R"("output_config":{"format":{"type":"json_schema","schema":{}}},"tools":[{"name":"f","input_schema":{}}])",
         "output_config.format"},
        {R"("speed":"fast")", "speed"},
        {R"("tool_choice":{"type":"any"})", "tool_choice"},
        {R"("tool_choice":{"type":"tool"})", "tool_choice.name"},
        {R"("tool_choice":{"type":"some"})", "tool_choice.type"}}) {
    EXPECT_THAT(VerdictOn(fields), StartsWith(std::string(param) + ": ")) << fields;
  }
  for (const char* fields :
       {R"("thinking":{"type":"disabled"})", R"("thinking":{"type":"enabled","budget_tokens":1024})",
        R"("metadata":{"user_id":"u"})", R"("service_tier":"auto")", R"("mcp_servers":[])",
        R"("temperature":0,"top_k":5,"top_p":0.5,"min_p":0.1)", R"("stream":true)"}) {
    EXPECT_EQ(VerdictOn(fields), "ok") << fields;
  }
  EXPECT_EQ(Parse(R"("output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}})").grammar->source,
            R"({"type":"object"})");
  EXPECT_EQ(Parse(R"("stop_sequences":["a","b","c","d","e"])").stop.size(), 5u);
}

TEST(MessagesRequestTest, ToolsAndTheirChoice) {
  const std::string tools =
      R"("tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}])";
  const MessagesRequest open = Parse(tools);
  EXPECT_EQ(boost::json::serialize(open.chat.tools),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])");
  EXPECT_FALSE(open.grammar.has_value());
  const MessagesRequest any = Parse(tools + R"(,"tool_choice":{"type":"any"})");
  ASSERT_TRUE(any.grammar.has_value());
  EXPECT_TRUE(any.grammar->tool_calls.forced && any.grammar->tool_calls.several);
  const MessagesRequest one = Parse(tools + R"(,"tool_choice":{"type":"auto","disable_parallel_tool_use":true})");
  ASSERT_TRUE(one.grammar.has_value());
  EXPECT_FALSE(one.grammar->tool_calls.forced || one.grammar->tool_calls.several);
  EXPECT_TRUE(Parse(tools + R"(,"tool_choice":{"type":"none"})").chat.tools.empty());
  EXPECT_THAT(VerdictOn(tools + R"(,"tool_choice":{"type":"tool","name":"g"})"), HasSubstr("not among the tools"));
}

TEST(CountRequestTest, HasNoFieldsOfTheAnswer) {
  EXPECT_EQ(Verdict(ParseCountRequest, fmt::format(R"({{"model":"m",{}}})", kHi)), "ok");
  EXPECT_THAT(Verdict(ParseCountRequest, fmt::format(R"({{"model":"m","max_tokens":5,{}}})", kHi)),
              StartsWith("max_tokens: "));
}

}  // namespace
}  // namespace inferflux::server
