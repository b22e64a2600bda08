// The texts of one request on their way through a model: in waves, refused, cancelled, cut, and logged.
#include "server/reply/embedding_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

void MakeAnEmbedder(serving::ServedModel& model) {
  model.info.context = 5;
  model.capabilities.embeddings = true;
  model.info.embedding = {.dimensions = 3, .shorter = {}, .normalised = false};
}

void EmbedOnes(const GenerationRequest& request, TokenStream& stream) {
  StreamEvent event = End(FinishReason::kStop, static_cast<int32_t>(request.prompt.size()), 0);
  event.embedding = {1.0f, 2.0f, 3.0f};
  stream.Push(std::move(event));
}

std::string ManyTexts(int count) {
  std::string out = R"({"input":[)";
  for (int i = 0; i < count; ++i) out += (i > 0 ? ",\"a\"" : "\"a\"");
  return out + "]}";
}

// 64 texts wait at once; the others come when these have ended.
TEST(EmbeddingRunTest, AtMost64TextsOfARequestAreSubmittedAtOnce) {
  std::atomic<bool> go = false;
  FakeServer fake(
      [&](const GenerationRequest& request, TokenStream& stream) {
        while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EmbedOnes(request, stream);
      },
      {}, MakeAnEmbedder);
  std::thread client([&] { EXPECT_EQ(fake.Post("/v1/embeddings", ManyTexts(65)).status, 200); });
  while (fake.scheduler->requests().size() < 64) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(fake.scheduler->requests().size(), 64u);
  go = true;
  client.join();
  EXPECT_EQ(fake.scheduler->requests().size(), 65u);
}

TEST(EmbeddingRunTest, ARefusalAndACancellationAreErrors) {
  FakeServer full(EmbedOnes, {}, MakeAnEmbedder);
  full.scheduler->refusal = Error{ErrorCode::kResourceExhausted, "3 requests wait already"};
  full.scheduler->figures.retry_after_seconds = 17;
  const auto refused = full.Post("/v1/embeddings", ManyTexts(1));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(net::FindHeader(refused.headers, "Retry-After"), "17");
  EXPECT_EQ(refused.body, R"({"error":{"message":"3 requests wait already","type":"rate_limit_error","param":null,)"
                          R"("code":"overloaded"}})");
  FakeServer cancels(
      [](const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kCancelled, 1, 0)); }, {},
      MakeAnEmbedder);
  const auto cancelled = cancels.Post("/v1/embeddings", ManyTexts(2));
  EXPECT_EQ(cancelled.status, 503);
  EXPECT_EQ(cancelled.body,
            R"({"error":{"message":"the request was cancelled","type":"service_unavailable_error","param":null,)"
            R"("code":"unavailable"}})");
  FakeServer wrong(EmbedOnes, {}, MakeAnEmbedder);
  wrong.scheduler->refusal = Error{ErrorCode::kInvalidArgument, "it does not fit"};
  const auto invalid = wrong.Post("/v1/embeddings", ManyTexts(1));
  EXPECT_EQ(invalid.status, 400);
  EXPECT_NE(invalid.body.find(R"("param":"input")"), std::string::npos) << invalid.body;
}

// An error ends the request: the next wave is not submitted.
TEST(EmbeddingRunTest, AfterAnErrorNothingMoreIsSubmitted) {
  FakeServer fake(
      [](const GenerationRequest&, TokenStream& stream) {
        StreamEvent event = End(FinishReason::kError, 1, 0);
        event.finish->error = {ErrorCode::kUnsupported, "no such text"};
        stream.Push(std::move(event));
      },
      {}, MakeAnEmbedder);
  const auto answer = fake.Post("/v1/embeddings", ManyTexts(130));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(fake.scheduler->requests().size(), 64u);
}

TEST(EmbeddingRunTest, AModelWithOneLengthHasNoOther) {
  FakeServer fake(EmbedOnes, {}, MakeAnEmbedder);
  EXPECT_EQ(fake.Post("/v1/embeddings", R"({"input":"a","dimensions":3})").status, 200);
  const auto refused = fake.Post("/v1/embeddings", R"({"input":"a","dimensions":2})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body,
            R"({"error":{"message":"'dimensions' must be 3 or left out: the model 'fake' was not trained for shorter )"
            R"(vectors","type":"invalid_request_error","param":"dimensions","code":"invalid_value"}})");
}

// A text that is cut keeps the control token at its end, and no other.
TEST(EmbeddingRunTest, ACutTextKeepsTheTokenThatEndsIt) {
  const auto job = [](std::vector<TokenId> tokens, bool truncate) {
    const auto model = std::make_shared<serving::ServedModel>();
    MakeAnEmbedder(*model);
    model->id = "m";
    model->tokenizer = ByteTokenizer();
    server::Caller caller;
    caller.account = "ann";
    caller.priority = 7;
    caller.cache_salt = 8;
    caller.request_id = "req_1";
    server::EmbeddingTexts texts;
    texts.texts = {serving::RawPrompt(std::move(tokens))};
    texts.truncate = truncate;
    texts.param = "texts";
    return server::MakeEmbeddingJob(model, std::move(texts), caller);
  };
  const auto cut = job({1, 2, 3, 4, 5, 6, 256}, true);
  ASSERT_TRUE(cut);
  const GenerationRequest& request = cut->requests.at(0);
  EXPECT_EQ(request.prompt, (std::vector<TokenId>{1, 2, 3, 4, 256}));
  EXPECT_TRUE(request.embed);
  EXPECT_EQ(request.priority, 7);
  EXPECT_EQ(request.cache_salt, 8u);
  EXPECT_EQ(request.request_id, "req_1");
  EXPECT_EQ(request.account, "ann");
  EXPECT_EQ(cut->dimensions, 3u);
  EXPECT_EQ(job({1, 2, 3, 4, 5, 6, 7}, true)->requests[0].prompt, (std::vector<TokenId>{1, 2, 3, 4, 5}));
  EXPECT_EQ(job({1, 2, 3, 4, 256}, true)->requests[0].prompt, (std::vector<TokenId>{1, 2, 3, 4, 256}));
  EXPECT_TRUE(job({1, 2, 3, 4, 5}, false));
  const auto refused = job({1, 2, 3, 4, 5, 6}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "'texts' has 6 tokens, and the model 'm' takes at most 5; shorten it");
}

}  // namespace
}  // namespace inferflux::testing
