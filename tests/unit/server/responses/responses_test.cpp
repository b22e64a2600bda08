// OpenAI's Responses over HTTP, on a model with scripted answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

void SayHello(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Hel"));
  stream.Push(Piece("lo"));
  stream.Push(End(FinishReason::kStop, 9, 2));
}

std::string PromptOf(const FakeServer& fake) {
  const auto prompt = fake.scheduler->requests().back().prompt;
  return std::string(prompt.begin(), prompt.end());
}

TEST(ResponsesTest, AResponseContinuesAStoredOne) {
  FakeServer fake(SayHello);
  const auto first =
      fake.PostJson("/v1/responses", R"({"input":"Hi","instructions":"Be brief.","metadata":{"a":"b"}})");
  EXPECT_EQ(first.at("status"), "completed") << boost::json::serialize(first);
  EXPECT_EQ(first.at("output").at(0).at("content").at(0).at("text"), "Hello");
  EXPECT_EQ(first.at("instructions"), "Be brief.");
  EXPECT_EQ(PromptOf(fake), "system: Be brief.\nuser: Hi\n>");
  const std::string id(first.at("id").as_string());
  EXPECT_EQ(boost::json::parse(fake.Get("/v1/responses/" + id).body), first);
  fake.PostJson("/v1/responses", R"({"input":"Bye","previous_response_id":")" + id + R"("})");
  EXPECT_EQ(PromptOf(fake), "user: Hi\nassistant: Hello\nuser: Bye\n>") << "instructions are not carried over";
  EXPECT_EQ(fake.Post("/v1/responses", R"({"input":"Bye","previous_response_id":"resp_none"})").status, 404);
}

TEST(ResponsesTest, ItemsOfAnAnswerAreOneMessage) {
  FakeServer fake(SayHello, {}, [](serving::ServedModel& model) {
    auto compiled = text::ChatTemplate::Compile(
        "{% for m in messages %}<{{ m.role }} {{ m.reasoning_content }} {{ m.content }}"
        "{% for c in m.tool_calls or [] %}[{{ c.id }} {{ c.function.name }} {{ c.function.arguments.x }}]{% endfor "
        "%}>{% endfor %}");
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  });
  const auto answer = fake.PostJson("/v1/responses", R"({"input":[{"role":"user","content":"?"},
      {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
      {"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"Let me see.","annotations":[]}]},
      {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}"},
      {"type":"function_call_output","call_id":"c1","output":"2"}]})");
  EXPECT_EQ(answer.at("status"), "completed") << boost::json::serialize(answer);
  EXPECT_EQ(PromptOf(fake), "<user  ?><assistant hm Let me see.[c1 f 1]><tool  2>");
}

TEST(ResponsesTest, AnErrorInAStreamIsAFailedResponseThatIsKept) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("Hel"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    StreamEvent last;
    last.finish = scheduler::Finish{FinishReason::kError, {ErrorCode::kInternal, "the device is gone"}, {}};
    stream.Push(std::move(last));
  });
  const std::string body = fake.Post("/v1/responses", R"({"input":"Hi","stream":true})").body;
  EXPECT_THAT(body, HasSubstr("event: response.failed"));
  EXPECT_THAT(body, HasSubstr("the device is gone"));
  const std::string id = body.substr(body.find("resp_"), 29);
  EXPECT_EQ(boost::json::parse(fake.Get("/v1/responses/" + id).body).at("status"), "failed");
  EXPECT_EQ(fake.Post("/v1/responses", R"({"input":"Hi","previous_response_id":")" + id + R"("})").status, 400);
}

}  // namespace
}  // namespace inferflux::testing
