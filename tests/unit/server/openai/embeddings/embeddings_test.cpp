// POST /v1/embeddings over HTTP, on a model with scripted vectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/fake_model.h"
#include "server/openai/embeddings/embedding_format.h"
#include "server/openai/embeddings/embedding_request.h"
#include "server/reply/embedding_run.h"
#include "server/request/request_testing.h"

namespace inferflux::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Embeddings(std::string_view body) { return server::Verdict(server::ParseEmbeddingRequest, body); }

// A vector that holds the prompt's length and its first token.
void EmbedScript(const GenerationRequest& request, TokenStream& stream) {
  EXPECT_TRUE(request.embed);
  const auto tokens = static_cast<int32_t>(request.prompt.size());
  StreamEvent event = End(FinishReason::kStop, tokens, 0);
  event.embedding = {static_cast<float>(tokens), static_cast<float>(request.prompt.at(0)), 0.1f};
  stream.Push(std::move(event));
}

void MakeEmbedder(serving::ServedModel& model) {
  model.info.context = 5;
  model.capabilities.completions = model.capabilities.chat = false;
  model.capabilities.embeddings = true;
  model.info.embedding = {.dimensions = 3, .shorter = {2}, .normalised = false};
}

TEST(EmbeddingRequestTest, TakesEveryFormOfInput) {
  for (const char* body :
       {R"({"input":"a"})", R"({"input":["a","b"]})", R"({"input":[1,2]})", R"({"input":[[1],[2,3]]})",
        R"({"input":"a","encoding_format":"base64","dimensions":2,"user":"u","model":"m"})",
        R"({"input":"a","dimensions":null})"}) {
    EXPECT_EQ(Embeddings(body), "ok") << body;
  }
}

TEST(EmbeddingRequestTest, NamesWhatIsWrong) {
  EXPECT_THAT(Embeddings(R"({})"), HasSubstr("'input' is missing"));
  EXPECT_THAT(Embeddings(R"({"input":""})"), HasSubstr("'input' must not be empty"));
  EXPECT_THAT(Embeddings(R"({"input":[]})"), HasSubstr("must not be an empty list"));
  EXPECT_THAT(Embeddings(R"({"input":["a",""]})"), HasSubstr("'input[1]' must not be empty"));
  EXPECT_THAT(Embeddings(R"({"input":["a",[]]})"), HasSubstr("'input[1]' must not be empty"));
  EXPECT_THAT(Embeddings(R"({"input":[1,-2]})"), HasSubstr("input[1]"));
  EXPECT_THAT(Embeddings(R"({"input":7})"), HasSubstr("must be a string"));
  EXPECT_THAT(Embeddings(R"({"input":"a","encoding_format":"int8"})"), HasSubstr("'float' or 'base64'"));
  EXPECT_THAT(Embeddings(R"({"input":"a","dimensions":0})"), HasSubstr("'dimensions'"));
  EXPECT_THAT(Embeddings(R"({"input":"a","prompt":"b"})"), HasSubstr("prompt"));
  std::string many = R"({"input":["a")";
  for (int i = 0; i < 2048; ++i) many += R"(,"a")";
  EXPECT_THAT(Embeddings(many + "]}"), AllOf(HasSubstr("at most 2048"), HasSubstr("2049")));
}

TEST(EmbeddingsTest, AnswersEveryInputInItsOrder) {
  FakeServer fake(EmbedScript, {}, MakeEmbedder);
  const auto answer = fake.PostJson("/v1/embeddings", R"({"input":["abc","d"]})");
  EXPECT_EQ(boost::json::serialize(answer),
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[3,97,1E-1]},)"
            R"({"object":"embedding","index":1,"embedding":[1,100,1E-1]}],"model":"fake",)"
            R"("usage":{"prompt_tokens":4,"total_tokens":4}})");
  const auto ids = fake.PostJson("/v1/embeddings", R"({"input":[[5,6],[7]]})");
  EXPECT_EQ(ids.at("data").at(0).at("embedding").at(1).to_number<double>(), 5.0);
  EXPECT_EQ(ids.at("data").at(1).at("embedding").at(1).to_number<double>(), 7.0);
  EXPECT_THAT(fake.Get("/metrics").body, HasSubstr(R"(endpoint="embeddings",model="fake",outcome="stop"} 2)"));
}

TEST(EmbeddingsTest, LongListsAreServedInWaves) {
  FakeServer fake(EmbedScript, {}, MakeEmbedder);
  std::string body = R"({"input":[)";
  for (int i = 0; i < 200; ++i) body += (i > 0 ? "," : "") + ("[" + std::to_string(i) + "]");
  const auto answer = fake.PostJson("/v1/embeddings", body + "]}");
  ASSERT_EQ(answer.at("data").as_array().size(), 200u);
  for (size_t i = 0; i < 200; ++i)
    EXPECT_EQ(answer.at("data").at(i).at("embedding").at(1).to_number<double>(), double(i));
  EXPECT_EQ(answer.at("usage").at("prompt_tokens"), 200);
}

TEST(EmbeddingsTest, DimensionsAndEncoding) {
  FakeServer fake(EmbedScript, {}, MakeEmbedder);
  const auto shorter = fake.PostJson("/v1/embeddings", R"({"input":"abc","dimensions":2})");
  EXPECT_EQ(boost::json::serialize(shorter.at("data").at(0).at("embedding")), "[3,97]");
  const auto coded = fake.PostJson("/v1/embeddings", R"({"input":"abc","dimensions":2,"encoding_format":"base64"})");
  EXPECT_EQ(coded.at("data").at(0).at("embedding").as_string(), "AABAQAAAwkI=");
  const auto refused = fake.PostJson("/v1/embeddings", R"({"input":"abc","dimensions":1})");
  EXPECT_THAT(boost::json::serialize(refused), AllOf(HasSubstr("must be 3 or one of 2"), HasSubstr("\"dimensions\"")));
}

TEST(EmbeddingsTest, ShortenedVectorsKeepTheirLength) {
  const auto cut = server::Shorten({0.6f, 0.0f, 0.8f}, 2, true);
  EXPECT_EQ(cut, (std::vector<float>{1.0f, 0.0f}));
  EXPECT_EQ(server::Shorten({0.6f, 0.0f, 0.8f}, 2, false), (std::vector<float>{0.6f, 0.0f}));
  EXPECT_EQ(server::Shorten({0.0f, 0.0f, 1.0f}, 2, true), (std::vector<float>{0.0f, 0.0f})) << "no division by nothing";
  EXPECT_EQ(server::FloatsJson(std::vector<float>{0.1f, -1.0f, 1e-20f}), "[0.1,-1,1e-20]");
}

TEST(EmbeddingsTest, RefusalsNameTheLimit) {
  FakeServer fake(EmbedScript, {}, MakeEmbedder);
  const auto too_long = fake.PostJson("/v1/embeddings", R"({"input":["abc","abcdef"]})");
  EXPECT_EQ(too_long.at("error").at("code"), "context_length_exceeded");
  EXPECT_THAT(std::string(too_long.at("error").at("message").as_string()),
              AllOf(HasSubstr("'input[1]' has 6 tokens"), HasSubstr("at most 5")));
  EXPECT_EQ(fake.PostJson("/v1/embeddings", R"({"input":[9999]})").at("error").at("param"), "input");
  EXPECT_EQ(fake.Post("/v1/embeddings", R"({"input":"a","model":"other"})").status, 404);
}

TEST(EmbeddingsTest, AnEncoderSaysWhatItCannotDo) {
  FakeServer fake(EmbedScript, {}, MakeEmbedder);
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    const bool chat = std::string_view(path).find("chat") != std::string_view::npos;
    const auto response =
        fake.Post(path, chat ? R"({"messages":[{"role":"user","content":"Hi"}]})" : R"({"prompt":"a"})");
    EXPECT_EQ(response.status, 422);
    EXPECT_THAT(response.body,
                AllOf(HasSubstr("encoder"), HasSubstr("/v1/embeddings"), HasSubstr("missing_capability")));
  }
  EXPECT_THAT(fake.Get("/v1/models").body, AllOf(HasSubstr(R"("completions":false,"chat":false,"embeddings":true)"),
                                                 HasSubstr(R"("embedding_dimensions":3)")));
}

TEST(EmbeddingsTest, AModelWithoutEmbeddingsAndAFailureAreErrors) {
  FakeServer plain(EmbedScript);
  EXPECT_THAT(plain.Post("/v1/embeddings", R"({"input":"a"})").body, HasSubstr("cannot do embeddings"));
  FakeServer broken(
      [](const GenerationRequest&, TokenStream& stream) {
        StreamEvent event = End(FinishReason::kError, 1, 0);
        event.finish->error = {.code = ErrorCode::kInternal, .message = "not numbers"};
        stream.Push(std::move(event));
      },
      {}, MakeEmbedder);
  const auto response = broken.Post("/v1/embeddings", R"({"input":["a","b"]})");
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr("not numbers"));
}

}  // namespace
}  // namespace inferflux::testing
