// The rerank endpoints, /score and /classify over HTTP, on a model with scripted scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cmath>

#include "server/fake_model.h"
#include "server/openai/rerank/rerank_request.h"
#include "server/openai/rerank/score_values.h"
#include "server/request/request_testing.h"

namespace inferflux::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Reranks(std::string_view body) { return server::Verdict(server::ParseRerankRequest, body); }
std::string ScoreVerdict(std::string_view body) { return server::Verdict(server::ParseScoreRequest, body); }

// The raw score is the number of tokens of the second text; a model of more labels gives each label its index.
void ScoreScript(const GenerationRequest& request, TokenStream& stream) {
  EXPECT_TRUE(request.score);
  const auto tokens = static_cast<int32_t>(request.prompt.size());
  StreamEvent event = End(FinishReason::kStop, tokens, 0);
  event.embedding = {static_cast<float>(tokens - request.second_text)};
  stream.Push(std::move(event));
}

void ThreeClasses(const GenerationRequest& request, TokenStream& stream) {
  StreamEvent event = End(FinishReason::kStop, static_cast<int32_t>(request.prompt.size()), 0);
  event.embedding = {0.0f, 2.0f, 1.0f};
  stream.Push(std::move(event));
}

void MakeRanker(serving::ServedModel& model) {
  model.info.context = 12;
  model.capabilities.completions = model.capabilities.chat = false;
  model.capabilities.scores = true;
  model.chat_template = nullptr;
  model.engine.pooling.labels = {"LABEL_0"};
  model.engine.pooling.score_function = model::ScoreFunction::kSigmoid;
}

double Number(const boost::json::value& value) { return value.to_number<double>(); }
double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(RerankRequestTest, TakesTheFieldsOfEveryServer) {
  for (const char* body :
       {R"({"query":"q","documents":["a","b"]})", R"({"query":"q","texts":["a"],"raw_scores":true,"return_text":true})",
        R"({"query":"q","documents":[{"text":"a"}],"top_n":1,"return_documents":false,"model":"m","user":"u"})",
        R"({"query":"q","documents":["a"],"max_tokens_per_doc":10,"rank_fields":["text"]})",
        R"({"query":"q","documents":["a"],"truncate_prompt_tokens":-1,"use_activation":false,"truncate":true})"}) {
    EXPECT_EQ(Reranks(body), "ok") << body;
  }
  EXPECT_EQ(ScoreVerdict(R"({"text_1":"a","text_2":["b","c"]})"), "ok");
  EXPECT_EQ(ScoreVerdict(R"({"queries":["a","b"],"documents":["b","c"]})"), "ok");
}

TEST(RerankRequestTest, NamesWhatIsWrong) {
  EXPECT_THAT(Reranks(R"({"documents":["a"]})"), HasSubstr("'query' is missing"));
  EXPECT_THAT(Reranks(R"({"query":"q"})"), HasSubstr("'documents' is missing"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":[]})"), HasSubstr("must not be an empty list"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":"a"})"), HasSubstr("must be a list"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":["a",7]})"), HasSubstr("documents[1]"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":[{"image":"x"}]})"), HasSubstr("only text is ranked"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":["a"],"top_n":-1})"), HasSubstr("'top_n'"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":["a"],"max_chunks_per_doc":3})"), HasSubstr("max_chunks_per_doc"));
  EXPECT_THAT(Reranks(R"({"query":"q","documents":["a"],"topn":3})"), HasSubstr("top_n"));
  EXPECT_THAT(ScoreVerdict(R"({"text_1":["a","b"],"text_2":["c"]})"), HasSubstr("as many as"));
}

TEST(RerankTest, OrdersDocumentsByTheirScores) {
  FakeServer fake(ScoreScript, {}, MakeRanker);
  for (const char* path : {"/rerank", "/v1/rerank", "/reranking", "/v1/reranking"}) {
    const auto answer = fake.PostJson(path, R"({"query":"q","documents":["a","abc","ab"],"top_n":2})");
    const auto& results = answer.at("results").as_array();
    ASSERT_EQ(results.size(), 2u) << path;
    EXPECT_EQ(Number(results[0].at("index")), 1);
    EXPECT_DOUBLE_EQ(Number(results[0].at("relevance_score")), Sigmoid(3));
    EXPECT_EQ(results[0].at("document").at("text"), "abc");
    EXPECT_EQ(Number(results[1].at("index")), 2);
    EXPECT_EQ(answer.at("model"), "fake");
    EXPECT_EQ(Number(answer.at("usage").at("total_tokens")), 3 + 6);
  }
  EXPECT_THAT(fake.Get("/metrics").body, HasSubstr(R"(endpoint="rerank",model="fake",outcome="stop"} 4)"));
}

TEST(RerankTest, EachApiGetsItsForm) {
  FakeServer fake(ScoreScript, {}, MakeRanker);
  const auto cohere = fake.PostJson("/v2/rerank", R"({"query":"q","documents":["a","ab"]})");
  EXPECT_EQ(cohere.at("meta").at("api_version").at("version"), "2");
  EXPECT_FALSE(cohere.at("results").at(0).as_object().contains("document"));
  EXPECT_EQ(boost::json::serialize(
                fake.PostJson("/rerank", R"({"query":"q","texts":["a","ab"],"raw_scores":true,"return_text":true})")),
            R"([{"index":1,"score":2E0,"text":"ab"},{"index":0,"score":1E0,"text":"a"}])");
  const auto scores = fake.PostJson("/score", R"({"text_1":"q","text_2":["abc","a"]})");
  EXPECT_EQ(scores.at("object"), "list");
  EXPECT_DOUBLE_EQ(Number(scores.at("data").at(0).at("score")), Sigmoid(3));
  EXPECT_DOUBLE_EQ(Number(scores.at("data").at(1).at("score")), Sigmoid(1));
}

TEST(RerankTest, LongDocumentsAreErrorsUnlessTheyMayBeCut) {
  FakeServer fake(ScoreScript, {}, MakeRanker);
  const auto refused = fake.PostJson("/rerank", R"({"query":"q","documents":["a","0123456789ab"]})");
  EXPECT_EQ(refused.at("error").at("code"), "context_length_exceeded");
  EXPECT_THAT(std::string(refused.at("error").at("message").as_string()),
              AllOf(HasSubstr("'documents[1]'"), HasSubstr("13 tokens"), HasSubstr("at most 12")));
  const auto raw = [&](const char* path, const char* more) {
    const auto body = std::string(R"({"query":"q","documents":["0123456789ab"],"use_activation":false)") + more + "}";
    return Number(fake.PostJson(path, body).at("results").at(0).at("relevance_score"));
  };
  EXPECT_EQ(raw("/rerank", R"(,"truncate_prompt_tokens":-1)"), 11);
  EXPECT_EQ(raw("/rerank", R"(,"truncate_prompt_tokens":6)"), 5);
  EXPECT_EQ(raw("/rerank", R"(,"max_tokens_per_doc":4)"), 4);
  EXPECT_EQ(raw("/v2/rerank", ""), 11) << "Cohere's API cuts documents";
}

TEST(RerankTest, AFileMayHaveATemplateForPairs) {
  FakeServer fake(ScoreScript, {}, [](serving::ServedModel& model) {
    MakeRanker(model);
    model.rerank_template = "Q:{query}D:{document}.";
  });
  const auto answer = fake.PostJson("/rerank", R"({"query":"{document}","documents":["a"],"use_activation":false})");
  EXPECT_TRUE(answer.as_object().contains("error")) << "16 tokens of 12";
  const auto fits = fake.PostJson("/rerank", R"({"query":"q","documents":["ab"],"use_activation":false})");
  EXPECT_EQ(Number(fits.at("results").at(0).at("relevance_score")), 8) << "Q:qD:ab.";
}

TEST(ClassifyTest, GivesEachLabelItsShare) {
  FakeServer fake(ThreeClasses, {}, [](serving::ServedModel& model) {
    MakeRanker(model);
    model.engine.pooling.labels = {"no", "maybe", "yes"};
    model.engine.pooling.score_function = model::ScoreFunction::kSoftmax;
  });
  const auto answer = fake.PostJson("/classify", R"({"input":["abc","d"]})");
  ASSERT_EQ(answer.at("data").as_array().size(), 2u);
  const auto& first = answer.at("data").at(0);
  EXPECT_EQ(first.at("label"), "maybe");
  EXPECT_EQ(Number(first.at("num_classes")), 3);
  double total = 0;
  for (const auto& share : first.at("probs").as_array()) total += Number(share);
  EXPECT_NEAR(total, 1.0, 1e-12);
  const auto ranked = fake.Post("/rerank", R"({"query":"q","documents":["a"]})");
  EXPECT_EQ(ranked.status, 422);
  EXPECT_THAT(ranked.body, AllOf(HasSubstr("3 classes"), HasSubstr("/classify")));
}

TEST(ScoreValuesTest, OfTwoLabelsTheOneNamedYesCounts) {
  const std::vector<std::string> one{"LABEL_0"}, judge{"no", "Yes"}, sentiment{"negative", "positive"};
  EXPECT_EQ(server::RelevanceLabel(one), 0u);
  EXPECT_EQ(server::RelevanceLabel(judge), 1u);
  EXPECT_EQ(server::RelevanceLabel(sentiment), std::nullopt);
  const std::vector<float> scores{0.0f, std::log(3.0f)};
  const auto shares = server::ReportedScores(scores, model::ScoreFunction::kSoftmax, false);
  EXPECT_NEAR(shares[1], 0.75, 1e-6);
  EXPECT_THAT(server::ReportedScores(scores, model::ScoreFunction::kSoftmax, true), ElementsAre(0.0, scores[1]));
}

TEST(RerankTest, OtherModelsSayWhyTheyCannot) {
  FakeServer fake(ScoreScript);  // generates text
  const auto refused = fake.Post("/v1/rerank", R"({"query":"q","documents":["a"],"model":"fake"})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("cannot do scores"), HasSubstr("cross-encoder")));
  FakeServer ranker(ScoreScript, {}, MakeRanker);
  const auto chat = ranker.Post("/v1/completions", R"({"prompt":"a","model":"fake"})");
  EXPECT_EQ(chat.status, 422);
  EXPECT_THAT(chat.body, HasSubstr("/v1/rerank"));
}

}  // namespace
}  // namespace inferflux::testing
