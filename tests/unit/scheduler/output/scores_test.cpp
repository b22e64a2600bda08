// Score requests on native engines: transformers' scores of texts and pairs, whatever else is in the step.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "formats/gguf/gguf_file.h"
#include "model/families/family.h"
#include "scheduler/queue/admission.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/warm_up.h"

namespace inferflux::scheduler {
namespace {

std::string ScoreModelFile(const std::string& name) {
  return (std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / name).string();
}

std::unique_ptr<engine::Engine> MakeEngine(const std::string& name, ThreadPool* pool) {
  const auto source = model::ModelSource::Open(ScoreModelFile(name + ".gguf"));
  EXPECT_TRUE(source) << source.error().message;
  auto config = *model::ReadModelConfig(**source);
  engine::EngineOptions options{.max_sequences = 16, .block_size = 16, .kv_bytes = 1 << 20, .kv_dtype = "fp32"};
  options.device.pool = pool;
  auto engine = engine::CreateEngine(pool != nullptr ? "cpu" : "reference", config, *source, options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

struct Golden {
  std::vector<GenerationRequest> requests;
  std::vector<std::vector<float>> scores;  // or embeddings
};

Golden ReadGolden(const std::string& name, const char* results) {
  const auto file = *formats::GgufFile::Open(ScoreModelFile(name + ".golden.gguf"));
  const auto values = [&]<class T>(const char* tensor_name, T) {
    const auto* tensor = file->FindTensor(tensor_name);
    std::vector<T> out(tensor == nullptr ? 0 : tensor->elements());
    if (tensor != nullptr) std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
    return out;
  };
  const auto tokens = values("tokens", TokenId{});
  const auto lengths = values("lengths", int32_t{}), seconds = values("seconds", int32_t{});
  const auto flat = values(results, float{});
  const size_t width = flat.size() / lengths.size();
  Golden out;
  auto first = tokens.begin();
  for (size_t i = 0; i < lengths.size(); ++i) {
    GenerationRequest request{.prompt = {first, first + lengths[i]}};
    request.score = std::string_view(results) == "scores";
    request.embed = !request.score;
    request.second_text = seconds.empty() ? 0 : seconds[i];
    out.requests.push_back(std::move(request));
    out.scores.emplace_back(flat.begin() + static_cast<ptrdiff_t>(i * width),
                            flat.begin() + static_cast<ptrdiff_t>((i + 1) * width));
    first += lengths[i];
  }
  return out;
}

std::vector<std::vector<float>> RunScores(engine::Engine& engine, const std::vector<GenerationRequest>& requests,
                                          int32_t budget) {
  BackendDriver driver(engine, {.max_batch_tokens = budget}, FakeTokenizer());
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const auto& request : requests) streams.push_back(driver.Submit(request));
  driver.Drain();
  std::vector<std::vector<float>> out;
  for (const auto& stream : streams) {
    Received received;
    Read(*stream, received);
    EXPECT_EQ(received.finishes, 1);
    EXPECT_EQ(received.finish->reason, FinishReason::kStop) << received.finish->error.message;
    out.push_back(received.events.back().embedding);
  }
  EXPECT_EQ(engine.usage().blocks_used, 0);
  return out;
}

class Scores : public ::testing::TestWithParam<std::string> {};

TEST_P(Scores, AreTransformersAndDoNotDependOnCompany) {
  const Golden golden = ReadGolden(GetParam(), "scores");
  ThreadPool pool(2);
  const auto engine = MakeEngine(GetParam(), &pool);
  EXPECT_TRUE(WarmUp(*engine, 16));
  const auto together = RunScores(*engine, golden.requests, 512), in_pieces = RunScores(*engine, golden.requests, 16);
  for (size_t i = 0; i < golden.requests.size(); ++i) {
    ASSERT_EQ(together[i].size(), golden.scores[i].size());
    for (size_t s = 0; s < together[i].size(); ++s) EXPECT_NEAR(together[i][s], golden.scores[i][s], 2e-4);
    EXPECT_EQ(in_pieces[i], together[i]) << "bit for bit";
    EXPECT_EQ(RunScores(*engine, {golden.requests[i]}, 512)[0], together[i]) << "bit for bit";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Scores,
                         ::testing::Values("bert_scores", "roberta_scores", "distilbert_scores", "modern_bert_scores",
                                           "mpnet_scores", "qwen3_scores"),
                         [](const auto& info) { return info.param; });

TEST(Scores, TheSecondTextOfAPairHasATypeOfItsOwn) {
  const Golden golden = ReadGolden("bert_scores", "scores");
  const auto engine = MakeEngine("bert_scores", nullptr);
  auto requests = golden.requests;
  for (auto& request : requests) request.second_text = 0;
  EXPECT_NE(RunScores(*engine, requests, 512).back(), RunScores(*engine, golden.requests, 512).back());
}

TEST(Scores, DenseLayersMakeAnEmbeddingOfThePooledState) {
  const Golden golden = ReadGolden("gemma_embedding", "embedding");
  const auto engine = MakeEngine("gemma_embedding", nullptr);
  EXPECT_TRUE(engine->info().capabilities.embeddings);
  const auto made = RunScores(*engine, golden.requests, 512);
  for (size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(made[i].size(), golden.scores[i].size());
    for (size_t d = 0; d < made[i].size(); ++d) EXPECT_NEAR(made[i][d], golden.scores[i][d], 1e-4);
  }
}

TEST(Scores, AClassifierDoesNothingElse) {
  for (const char* name : {"bert_scores", "qwen3_scores"}) {
    const auto engine = MakeEngine(name, nullptr);
    const engine::EngineInfo& info = engine->info();
    EXPECT_TRUE(info.capabilities.scores);
    EXPECT_FALSE(info.capabilities.generation || info.capabilities.embeddings || info.capabilities.logprobs);
    EXPECT_TRUE(CheckRequest({.prompt = {2, 3}, .score = true}, info));
    const auto embedded = CheckRequest({.prompt = {2, 3}, .embed = true}, info);
    const auto generated = CheckRequest({.prompt = {2, 3}}, info);
    ASSERT_FALSE(embedded || generated);
    EXPECT_NE(generated.error().message.find("classifier"), std::string::npos) << generated.error().message;
    const auto opened = engine->Open({}, 0);
    ASSERT_TRUE(opened);
    ASSERT_TRUE(engine->Reserve(opened->sequence, 2));
    EXPECT_FALSE(engine->ExecuteUnifiedBatch(
        {.items = {{.sequence = opened->sequence, .tokens = {2, 3}, .outputs = {{.token_index = 1}}}}}))
        << "it has no logits to sample from";
  }
}

TEST(Scores, AModelWithoutAHeadHasNone) {
  const auto engine = MakeEngine("bert", nullptr);
  const auto refused = CheckRequest({.prompt = {2, 3}, .score = true}, engine->info());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no classification head"), std::string::npos);
  EXPECT_FALSE(engine->ApplyHead(std::vector<float>(16)));
  EXPECT_FALSE(CheckRequest({.prompt = {2, 3}, .embed = true, .second_text = 3}, engine->info()));
}

}  // namespace
}  // namespace inferflux::scheduler
