// The whole server over HTTP, on a model with scripted answers.
#include "server/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "net/raw_client.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kChat[] = R"({"messages":[{"role":"user","content":"Hi"}]})";

void SayHello(const GenerationRequest& request, TokenStream& stream) {
  stream.Push(Piece("Hello"));
  stream.Push(Piece(", you"));
  stream.Push(End(FinishReason::kStop, static_cast<int32_t>(request.prompt.size()), 3));
}

// A script that outputs `text` and stops.
FakeScheduler::Script Say(std::string text) {
  return [text](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece(text));
    stream.Push(End(FinishReason::kStop, 1, 1));
  };
}

std::string ErrorField(const boost::json::value& answer, const char* name) {
  const boost::json::value& field = answer.at("error").at(name);
  return field.is_string() ? std::string(field.as_string()) : boost::json::serialize(field);
}

TEST(ApiServerTest, AChatIsRenderedGeneratedAndCounted) {
  FakeServer fake(SayHello);
  const auto answer = fake.PostJson("/v1/chat/completions", kChat);
  EXPECT_EQ(answer.at("object"), "chat.completion");
  EXPECT_EQ(answer.at("model"), "fake");
  EXPECT_EQ(boost::json::serialize(answer.at("choices")),
            R"([{"index":0,"message":{"role":"assistant","content":"Hello, you","refusal":null},"logprobs":null,)"
            R"("finish_reason":"stop"}])");
  const std::string prompt = "user: Hi\n>";
  EXPECT_EQ(answer.at("usage").at("prompt_tokens"), prompt.size());
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), 3);
  EXPECT_EQ(answer.at("usage").at("total_tokens"), prompt.size() + 3);
  const std::vector<TokenId> given = fake.scheduler->requests().at(0).prompt;
  EXPECT_EQ(std::string(given.begin(), given.end()), prompt) << "an id of this vocabulary is a byte";
}

// Prompts whose templates take long keep all threads of the preparation pool busy meanwhile.
TEST(ApiServerTest, ASmallRequestIsPreparedWithoutAnotherThread) {
  const int threads = server::PreparationLimits().threads;
  auto slow = text::ChatTemplate::Compile(
      "{% if messages[0].content|length > 4096 %}{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}"
      "{% endfor %}{% endif %}{{ messages[0].content[:1] }}");
  ASSERT_TRUE(slow) << slow.error().message;
  FakeServer fake(SayHello, {}, [&](serving::ServedModel& model) {
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*slow));
  });
  using Clock = std::chrono::steady_clock;
  std::atomic<int> began = 0;
  std::atomic<int> answered = 0;
  std::vector<Clock::time_point> ended(static_cast<size_t>(threads));
  std::vector<std::thread> clients;
  const auto start = Clock::now();
  for (Clock::time_point& end : ended) {
    clients.emplace_back([&] {
      ++began;
      const std::string large = R"({"messages":[{"role":"user","content":")" + std::string(5000, 'x') + R"("}]})";
      EXPECT_EQ(fake.Post("/v1/chat/completions", large).status, 200);
      end = Clock::now();
      ++answered;
    });
  }
  while (began < threads) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until all are being prepared
  EXPECT_EQ(fake.Post("/v1/chat/completions", kChat).status, 200);
  EXPECT_EQ(answered, 0);
  // A grammar's compilation is bounded by no size of its request, so such a request waits for its turn: until about
  // when the first of the others is answered.
  EXPECT_EQ(fake.Post("/v1/chat/completions",
                      R"({"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_object"}})")
                .status,
            200);
  const auto waited = Clock::now() - start;
  for (std::thread& client : clients) client.join();
  EXPECT_GE(waited, (*std::ranges::min_element(ended) - start) * 3 / 5);
}

TEST(ApiServerTest, ACompletionIsRawAndGoesOnWithItsText) {
  FakeServer fake(SayHello);
  const auto answer = fake.PostJson("/v1/completions", R"({"prompt":["ab",""],"max_tokens":3})");
  EXPECT_EQ(ErrorField(answer, "param"), "prompt") << "an empty prompt, and no bos to begin with";
  const auto right = fake.PostJson("/v1/completions", R"({"prompt":["ab","c"],"max_tokens":3,"n":2})");
  EXPECT_EQ(right.at("object"), "text_completion");
  ASSERT_EQ(right.at("choices").as_array().size(), 4u);
  EXPECT_EQ(right.at("choices").at(3).at("index"), 3);
  EXPECT_EQ(right.at("usage").at("prompt_tokens"), 3) << "each prompt counts once, whatever n is";
  EXPECT_EQ(right.at("usage").at("completion_tokens"), 12);
  for (const GenerationRequest& request : fake.scheduler->requests()) EXPECT_TRUE(request.continues_text);
}

TEST(ApiServerTest, ErrorsHaveOpenAisShapeAndTheRightStatus) {
  FakeServer fake(SayHello);
  struct Case {
    const char* target;
    std::string body;
    int status;
    const char* param;
    const char* code;
  };
  for (const Case& c :
       {Case{"/v1/chat/completions", "{", 400, "null", "invalid_json"},
        Case{"/v1/chat/completions", R"({"messages":[]})", 400, "messages", "invalid_value"},
        Case{"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"x":1})", 400, "x",
             "unknown_parameter"},
        Case{"/v1/chat/completions", R"({"model":"other","messages":[{"role":"user","content":"x"}]})", 404, "model",
             "model_not_found"},
        Case{"/v1/chat/completions", R"({"messages":[{"role":"user","content":"forbidden"}]})", 400, "messages",
             "invalid_value"},
        Case{"/v1/completions", R"({"prompt":[257]})", 400, "prompt", "invalid_value"},
        Case{"/v1/completions", R"({"prompt":")" + std::string(1000, 'a') + R"("})", 400, "prompt",
             "context_length_exceeded"},
        Case{"/v1/completions", R"({"prompt":")" + std::string(1'000'000, ' ') + R"("})", 400, "prompt",
             "context_length_exceeded"},
        Case{"/v1/completions", R"({"prompt":"a","prompt":"b"})", 400, "null", "invalid_json"},
        Case{"/v1/completions", R"({"prompt":"a","structured_outputs":{}})", 400, "structured_outputs",
             "invalid_value"},
        Case{"/v1/completions", R"({"prompt":"a","logit_bias":{"300":1}})", 400, "logit_bias", "invalid_value"},
        Case{"/v1/nothing", "{}", 404, "null", "unknown_url"}}) {
    const net::ClientResponse response = fake.Post(c.target, c.body);
    EXPECT_EQ(response.status, c.status) << c.body.substr(0, 80);
    const auto answer = boost::json::parse(response.body);
    EXPECT_EQ(ErrorField(answer, "type"), "invalid_request_error");
    EXPECT_EQ(ErrorField(answer, "param"), c.param) << c.body.substr(0, 80);
    EXPECT_EQ(ErrorField(answer, "code"), c.code) << c.body.substr(0, 80);
    EXPECT_NE(ErrorField(answer, "message"), "");
  }
  const net::ClientResponse wrong_method = fake.Get("/v1/completions");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(net::FindHeader(wrong_method.headers, "Allow"), "POST, OPTIONS");
  EXPECT_EQ(fake.scheduler->requests().size(), 0u) << "nothing of it reached the scheduler";
}

TEST(ApiServerTest, WhatTheSchedulerRefusesIsAnError) {
  FakeServer fake(SayHello);
  fake.scheduler->refusal = Error{ErrorCode::kResourceExhausted, "the queue is full"};
  const net::ClientResponse busy = fake.Post("/v1/chat/completions", kChat);
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(net::FindHeader(busy.headers, "Retry-After"), "1");
  fake.scheduler->refusal = Error{ErrorCode::kInvalidArgument, "too long"};
  EXPECT_EQ(fake.Post("/v1/chat/completions", kChat).status, 400);
}

TEST(ApiServerTest, AGenerationThatFailsIs500) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("begun"));
    StreamEvent last;
    last.finish = scheduler::Finish{FinishReason::kError, {ErrorCode::kInternal, "the device is gone"}, {}};
    stream.Push(last);
  });
  const net::ClientResponse response = fake.Post("/v1/chat/completions", kChat);
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr("the device is gone"));
}

TEST(ApiServerTest, ToolCallsAreTakenOutOfTheTextWhereToolsWereOffered) {
  FakeServer fake(Say("<tool_call>\n{\"name\":\"f\",\"arguments\":{\"x\":1}}\n</tool_call>"));
  const auto answer = fake.PostJson("/v1/chat/completions", R"({"messages":[{"role":"user","content":"Hi"}],
      "tools":[{"type":"function","function":{"name":"f"}}]})");
  const auto& choice = answer.at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_TRUE(choice.at("message").at("content").is_null());
  const auto& call = choice.at("message").at("tool_calls").at(0);
  EXPECT_EQ(call.at("type"), "function");
  EXPECT_EQ(call.at("function").at("name"), "f");
  EXPECT_EQ(call.at("function").at("arguments"), R"({"x":1})");

  const auto plain = fake.PostJson("/v1/chat/completions", kChat);
  EXPECT_EQ(plain.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_THAT(std::string(plain.at("choices").at(0).at("message").at("content").as_string()), HasSubstr("<tool_call>"));
}

TEST(ApiServerTest, LogprobsHaveTheFormOfTheirEndpoint) {
  FakeServer fake([](const GenerationRequest& request, TokenStream& stream) {
    StreamEvent event = Piece("\xC3\xA9");
    EXPECT_EQ(request.top_logprobs, 1);
    const scheduler::TokenLogprob first{1, "\xC3", -0.5f}, second{2, "\xA9", -INFINITY}, other{7, "z", -0.25f};
    event.tokens.push_back({first, {first}});
    event.tokens.push_back({second, {other}});
    stream.Push(event);
    stream.Push(End(FinishReason::kLength, 1, 2));
  });
  const auto chat = fake.PostJson("/v1/chat/completions",
                                  R"({"messages":[{"role":"user","content":"Hi"}],"logprobs":true,"top_logprobs":1})");
  EXPECT_EQ(boost::json::serialize(chat.at("choices").at(0).at("logprobs")),
            "{\"content\":[{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-5E-1,\"bytes\":[195],\"top_logprobs\":"
            "[{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-5E-1,\"bytes\":[195]}]},{\"token\":\"\xEF\xBF\xBD\",\"logprob\":"
            "-9.999E3,\"bytes\":[169],\"top_logprobs\":[{\"token\":\"z\",\"logprob\":-2.5E-1,\"bytes\":[122]}]}],"
            "\"refusal\":null}");
  const auto completion = fake.PostJson("/v1/completions", R"({"prompt":"a","logprobs":1})");
  const auto& logprobs = completion.at("choices").at(0).at("logprobs");
  EXPECT_EQ(boost::json::serialize(logprobs.at("text_offset")), "[0,1]");
  EXPECT_EQ(boost::json::serialize(logprobs.at("top_logprobs").at(1)), R"({"z":-2.5E-1})");
  EXPECT_EQ(boost::json::serialize(logprobs.at("tokens")), R"(["bytes:\\xc3","bytes:\\xa9"])") << "two texts, not one";
  EXPECT_EQ(completion.at("choices").at(0).at("finish_reason"), "length");
}

TEST(ApiServerTest, AnAnswerThatEndsAtOnceHasEmptyListsOfLogprobs) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 0)); });
  const auto answer = fake.PostJson("/v1/completions", R"({"prompt":"a","logprobs":1})");
  EXPECT_EQ(boost::json::serialize(answer.at("choices").at(0).at("logprobs")),
            R"({"tokens":[],"token_logprobs":[],"top_logprobs":[],"text_offset":[]})");
}

TEST(ApiServerTest, TokenIdsWithinACharacterAreEchoedAsValidText) {
  FakeServer fake(SayHello);
  const net::ClientResponse answer = fake.Post("/v1/completions", R"({"prompt":[97,195],"echo":true,"max_tokens":3})");
  EXPECT_TRUE(unicode::IsValidUtf8(answer.body)) << answer.body;
  EXPECT_EQ(boost::json::parse(answer.body).at("choices").at(0).at("text"), "a\xEF\xBF\xBDHello, you");
}

TEST(ApiServerTest, ManyChoicesWithTheLogprobsOfALongPromptAreRefused) {
  FakeServer fake(SayHello);
  const std::string body = R"({"n":128,"prompt_logprobs":20,"prompt":")" + std::string(900, 'a') + R"("})";
  const auto answer = fake.PostJson("/v1/completions", body);
  EXPECT_EQ(ErrorField(answer, "param"), "prompt_logprobs");
  EXPECT_THAT(ErrorField(answer, "message"), HasSubstr("262144"));
}

TEST(ApiServerTest, ThePromptOfSeveralChoicesIsCountedOnce) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("ok"));
    stream.Push(End(FinishReason::kStop, 20, 1, 16));
  });
  for (const auto& [more, prompts] : {std::pair(R"("prompt":"a","n":3)", 1), {R"("prompt":["a","b"],"n":3)", 2}}) {
    const auto usage = fake.PostJson("/v1/completions", "{" + std::string(more) + "}").at("usage");
    EXPECT_EQ(usage.at("prompt_tokens"), 20 * prompts);
    EXPECT_EQ(usage.at("prompt_tokens_details").at("cached_tokens"), 16 * prompts);
    EXPECT_EQ(usage.at("completion_tokens"), 3 * prompts);
  }
}

TEST(ApiServerTest, HealthModelsVersionAndMetrics) {
  FakeServer fake(SayHello);
  fake.Post("/v1/chat/completions", kChat);
  EXPECT_EQ(fake.Get("/livez").status, 200);
  EXPECT_EQ(fake.Get("/readyz").status, 200);
  EXPECT_EQ(boost::json::parse(fake.Get("/healthz").body).at("status"), "ok");
  EXPECT_EQ(boost::json::parse(fake.Get("/version").body).at("name"), "inferflux");
  EXPECT_EQ(boost::json::parse(fake.Get("/v1/models").body).at("data").at(0).at("id"), "fake");
  EXPECT_EQ(boost::json::parse(fake.Get("/v1/models/fake").body).at("object"), "model");
  EXPECT_EQ(fake.Get("/v1/models/other").status, 404);
  // A response is counted after it has been sent, and its reader may be faster.
  const std::string counted = R"(inferflux_http_responses_total{route="/v1/models/{id...}",status="404"} 1)";
  std::string metrics;
  for (int tries = 0; tries < 200 && metrics.find(counted) == std::string::npos; ++tries) {
    metrics = fake.Get("/metrics").body;
  }
  EXPECT_THAT(metrics, HasSubstr(counted));
  EXPECT_THAT(metrics,
              HasSubstr(R"(inferflux_requests_total{backend="cpu",endpoint="chat",model="fake",outcome="stop"} 1)"));
}

TEST(ApiServerTest, BeforeTheModelsAreLoadedItLivesButIsNotReady) {
  metrics::Registry metrics;
  const serving::BackendFactory factory({}, {});
  serving::ModelPool pool(factory, metrics, {});
  const auto server = server::ApiServer::Start({}, pool, metrics);
  ASSERT_TRUE(server.has_value());
  const net::Client client(net::ServerAddress{"127.0.0.1", (*server)->port(), ""});
  EXPECT_EQ(client.Send({.target = "/livez"})->status, 200);
  EXPECT_EQ(client.Send({.target = "/readyz"})->status, 503);
  EXPECT_EQ(client.Send({.method = "POST", .target = "/v1/chat/completions", .body = kChat})->status, 503);
}

TEST(ApiServerTest, WithKeysTheApiAsksForOneAndHealthDoesNot) {
  const auto path = std::filesystem::temp_directory_path() / ("inferflux_api_keys_" + std::to_string(::getpid()));
  std::ofstream(path) << keys::ToHex(keys::HashOf("sk-a")) << "\n";
  auto keys = server::ApiKeys::Load(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(keys.has_value());
  FakeServer fake(SayHello, *keys);
  EXPECT_EQ(fake.Post("/v1/chat/completions", kChat).status, 401);
  EXPECT_EQ(fake.Get("/v1/models").status, 401);
  RawClient stranger(fake.server->port());  // the refusal does not wait for the body
  stranger.Send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
  EXPECT_THAT(stranger.ReadUntil("\r\n"), HasSubstr(" 401 "));
  EXPECT_EQ(fake.Get("/readyz").status, 200);
  EXPECT_EQ(fake.Post("/v1/chat/completions", kChat, "Bearer sk-a").status, 200);
  EXPECT_NE(fake.scheduler->requests().at(0).cache_salt, 0u) << "tenants never share cached prompts";
}

}  // namespace
}  // namespace inferflux::testing
