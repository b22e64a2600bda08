// Ollama's API over HTTP, on a model with scripted answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

void SayHello(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Hel"));
  stream.Push(Piece("lo"));
  stream.Push(End(FinishReason::kLength, 9, 2));
}

std::string Chat(const std::string& more = "") {
  return R"({"model":"fake","messages":[{"role":"user","content":"Hi"}])" + more + "}";
}

std::vector<boost::json::object> Lines(const std::string& body) {
  std::vector<boost::json::object> out;
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);) out.push_back(boost::json::parse(line).as_object());
  return out;
}

TEST(OllamaTest, AStreamIsLinesOfJsonByDefault) {
  FakeServer fake(SayHello);
  const auto response = fake.Post("/api/chat", Chat());
  EXPECT_EQ(net::FindHeader(response.headers, "Content-Type"), "application/x-ndjson");
  const auto lines = Lines(response.body);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].at("message").at("content"), "Hel");
  EXPECT_EQ(lines[1].at("done"), false);
  EXPECT_EQ(lines[2].at("done"), true);
  EXPECT_EQ(lines[2].at("done_reason"), "length");
  EXPECT_EQ(lines[2].at("prompt_eval_count"), 9);
  EXPECT_EQ(lines[2].at("eval_count"), 2);
}

// Without a stream the time of the first token is not known.
TEST(OllamaTest, AWholeAnswerCountsAllItsTimeAsTheAnswers) {
  FakeServer fake(SayHello);
  const auto answer = boost::json::parse(fake.Post("/api/chat", Chat(R"(,"stream":false)")).body).as_object();
  EXPECT_EQ(answer.at("prompt_eval_duration"), 0);
  EXPECT_EQ(answer.at("eval_duration"), answer.at("total_duration"));
}

TEST(OllamaTest, TheDefaultsOfSamplingAreThisApis) {
  FakeServer fake(SayHello);
  fake.Post("/api/chat", Chat());
  auto sampling = fake.scheduler->requests().back().sampling;
  EXPECT_FLOAT_EQ(sampling.temperature, 0.8f);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_FLOAT_EQ(sampling.top_p, 0.9f);
  EXPECT_EQ(sampling.repetition_penalty, 1) << "no penalty that was not asked for";
  fake.Post("/api/chat",
            Chat(R"(,"options":{"repeat_penalty":1.5,"mirostat":2,"num_predict":-2,"stop":"x","num_gpu":1})"));
  const auto request = fake.scheduler->requests().back();
  EXPECT_FLOAT_EQ(request.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(request.sampling.top_k, 0) << "mirostat replaces it";
  EXPECT_EQ(request.max_tokens, 0);
  EXPECT_EQ(request.stop, std::vector<std::string>{"x"});
  fake.Post("/api/chat", Chat(R"(,"options":{"repeat_penalty":1.5,"repeat_last_n":0})"));
  EXPECT_EQ(fake.scheduler->requests().back().sampling.repetition_penalty, 1);
}

TEST(OllamaTest, ResultsAnswerTheCallsOfTheirNames) {
  FakeServer fake(SayHello, {}, [](serving::ServedModel& model) {
    auto compiled = text::ChatTemplate::Compile(
        "{% for m in messages %}{{ m.role }}({{ m.tool_call_id }})"
        "{% for c in m.tool_calls or [] %}[{{ c.id }} {{ c.function.name }}]{% endfor %}{% endfor %}");
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  });
  fake.Post("/api/chat", R"({"model":"fake","messages":[{"role":"user","content":"?"},{"role":"assistant","tool_calls":[
      {"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":{}}}]},
      {"role":"tool","tool_name":"g","content":"2"},{"role":"tool","content":"1"}]})");
  const auto prompt = fake.scheduler->requests().back().prompt;
  EXPECT_EQ(std::string(prompt.begin(), prompt.end()), "user()assistant()[call_0 f][call_1 g]tool(call_1)tool(call_0)");
}

TEST(OllamaTest, ErrorsHaveThisApisShape) {
  FakeServer fake(SayHello);
  const auto error = [](const net::ClientResponse& response, int status) {
    EXPECT_EQ(response.status, status) << response.body;
    const auto body = boost::json::parse(response.body).as_object();
    EXPECT_EQ(body.size(), 1u);
    return std::string(body.at("error").as_string());
  };
  EXPECT_THAT(error(fake.Post("/api/chat", "{"), 400), HasSubstr("not valid JSON"));
  EXPECT_THAT(error(fake.Post("/api/chat", "{}"), 400), HasSubstr("'model' is missing"));
  EXPECT_THAT(error(fake.Post("/api/chat", R"({"model":"other","messages":[]})"), 404), HasSubstr("other"));
  for (const char* wrong :
       {R"("stream":1)", R"("options":[])", R"("options":{"tfs_z":0.5})", R"("options":{"num_predict":"many"})",
        R"("options":{"stop":5})", R"("format":"xml")", R"("think":"hard")", R"("keep_alive":[])",
        R"("keep_alive":"5 parsecs")", R"("top_logprobs":2)", R"("tools":[{"type":"custom"}])", R"("colour":1)"}) {
    error(fake.Post("/api/chat", Chat("," + std::string(wrong))), 400);
  }
  EXPECT_THAT(error(fake.Get("/api/chat"), 405), HasSubstr("GET"));
  error(fake.Post("/api/nothing", "{}"), 404);
  fake.scheduler->refusal = Error{ErrorCode::kResourceExhausted, "the queue is full"};
  EXPECT_EQ(error(fake.Post("/api/chat", Chat()), 429), "the queue is full");
}

TEST(OllamaTest, AnErrorEndsAStreamWithItsLine) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("Hel"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    StreamEvent last;
    last.finish = scheduler::Finish{FinishReason::kError, {ErrorCode::kInternal, "the device is gone"}, {}};
    stream.Push(std::move(last));
  });
  const auto lines = Lines(fake.Post("/api/generate", R"({"model":"fake","prompt":"Hi"})").body);
  EXPECT_EQ(lines.back().at("error"), "the device is gone");
}

TEST(OllamaTest, KeepAliveIsADuration) {
  FakeServer fake(SayHello);
  for (const char* keep : {"0", "-1", "\"5m\"", "\"1h30m\"", "\"300\"", "\"-1s\"", "\"1.5h\"", "3600"}) {
    EXPECT_EQ(fake.Post("/api/chat", Chat(fmt::format(R"(,"keep_alive":{})", keep))).status, 200) << keep;
  }
  for (const char* keep : {"\"5m5\"", "\"5m5x\"", "\"5 m\"", "\"m\"", "\"-\"", "\"\"", "true"}) {
    EXPECT_EQ(fake.Post("/api/chat", Chat(fmt::format(R"(,"keep_alive":{})", keep))).status, 400) << keep;
  }
  const auto unloaded = fake.PostJson("/api/generate", R"({"model":"fake:latest","keep_alive":"0s"})");
  EXPECT_EQ(unloaded.at("done_reason"), "unload");
  EXPECT_EQ(unloaded.at("model"), "fake:latest");
}

TEST(OllamaTest, TheTagLatestIsNotPartOfAModelsName) {
  FakeServer fake(SayHello);
  EXPECT_EQ(fake.Post("/api/chat", R"({"model":"fake:latest","messages":[{"role":"user","content":"Hi"}]})").status,
            200);
  // A model that the server can load: it tries, and says what is wrong with the file.
  fake.pool.Offer({.id = "own", .path = "/nonexistent/own.gguf"});
  EXPECT_THAT(fake.Post("/api/generate", R"({"model":"own:latest","prompt":"Hi"})").body,
              HasSubstr("/nonexistent/own.gguf"));
  const auto unknown = fake.Post("/api/generate", R"({"model":"other:latest","prompt":"Hi"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("other:latest")) << "the name that was asked for";
}

}  // namespace
}  // namespace inferflux::testing
