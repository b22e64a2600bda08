// Embedding requests on native engines. The result does not depend on other requests or on chunking, and equals the
// pooled hidden states of transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "formats/gguf/gguf_file.h"
#include "model/families/family.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/warm_up.h"

namespace inferflux::scheduler {
namespace {

using model::Pooling;

std::string ModelFile(const std::string& name) {
  return (std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / name).string();
}

struct Setting {
  std::string model;
  std::optional<Pooling> pooling;  // if unset, the model's own
  engine::EngineOptions options = {.max_sequences = 16, .block_size = 16, .kv_bytes = 1 << 20, .kv_dtype = "fp32"};
};

std::unique_ptr<engine::Engine> MakeEngine(const Setting& setting, ThreadPool* pool) {
  const auto source = model::ModelSource::Open(ModelFile(setting.model));
  EXPECT_TRUE(source) << source.error().message;
  auto config = *model::ReadModelConfig(**source);
  if (setting.pooling) config.pooling.type = setting.pooling;
  engine::EngineOptions options = setting.options;
  options.device.pool = pool;
  auto engine = engine::CreateEngine(pool != nullptr ? "cpu" : "reference", config, *source, options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

std::vector<TokenId> RandomTokens(int32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  for (TokenId& token : tokens) token = static_cast<TokenId>(2 + random() % 60);
  return tokens;
}

// The vectors of texts that are all submitted at once, in steps of at most `budget` tokens.
std::vector<std::vector<float>> Embed(engine::Engine& engine, const std::vector<std::vector<TokenId>>& texts,
                                      int32_t budget) {
  BackendDriver driver(engine, {.max_batch_tokens = budget}, FakeTokenizer());
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const auto& text : texts) streams.push_back(driver.Submit({.prompt = text, .embed = true}));
  driver.Drain();
  std::vector<std::vector<float>> vectors;
  for (size_t i = 0; i < texts.size(); ++i) {
    Received received;
    Read(*streams[i], received);
    EXPECT_EQ(received.finishes, 1);
    EXPECT_EQ(received.finish->reason, FinishReason::kStop) << received.finish->error.message;
    EXPECT_EQ(received.finish->usage.prompt_tokens, static_cast<int32_t>(texts[i].size()));
    EXPECT_EQ(received.finish->usage.completion_tokens, 0);
    vectors.push_back(received.events.back().embedding);
  }
  EXPECT_EQ(engine.usage().blocks_used, 0);
  return vectors;
}

void ExpectSameBits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

class EmbeddingBits : public ::testing::TestWithParam<Setting> {};

TEST_P(EmbeddingBits, DoNotDependOnCompanyCutsOrThreads) {
  std::vector<std::vector<TokenId>> texts;
  for (const int32_t length : {1, 40, 7, 40, 16, 17, 33, 2}) {
    texts.push_back(RandomTokens(length, static_cast<uint32_t>(texts.size())));
  }
  texts[3].assign(texts[1].begin(), texts[1].end() - 1);  // almost the same text: a prefix to share
  ThreadPool one(1), two(2);
  const auto engine = MakeEngine(GetParam(), &one);
  std::vector<std::vector<float>> alone;
  for (const auto& text : texts) alone.push_back(Embed(*engine, {text}, 512)[0]);
  const auto threaded = MakeEngine(GetParam(), &two);
  for (const int32_t budget : {512, 64, 16}) {
    const auto together = Embed(*threaded, texts, budget);
    for (size_t i = 0; i < texts.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "text " << i << ", steps of " << budget);
      ExpectSameBits(together[i], alone[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingBits,
                         ::testing::Values(Setting{"bert.gguf", {}}, Setting{"bert.gguf", Pooling::kCls},
                                           Setting{"nomic_bert.gguf", {}}, Setting{"qwen3.gguf", {}},
                                           Setting{"qwen3.gguf", Pooling::kMean},
                                           Setting{"llama.gguf", Pooling::kCls}));

TEST(Embedding, IsWhatTransformersHiddenStatesPoolTo) {
  const auto golden = *formats::GgufFile::Open(ModelFile("bert.golden.gguf"));
  const auto values = [&]<class T>(const char* name, T) {
    const auto* tensor = golden->FindTensor(name);
    std::vector<T> out(tensor->elements());
    std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
    return out;
  };
  const auto tokens = values("tokens", TokenId{});
  const auto lengths = values("lengths", int32_t{});
  const auto hidden = values("hidden", float{});
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLast}) {
    const auto engine = MakeEngine({"bert.gguf", pooling}, nullptr);
    const auto width = static_cast<size_t>(engine->info().hidden);
    size_t first = 0;
    for (const int32_t length : lengths) {
      const auto count = static_cast<size_t>(length);
      const auto embedding = Embed(*engine, {{tokens.begin() + first, tokens.begin() + first + count}}, 512)[0];
      std::vector<double> expected(width, 0.0);
      for (size_t t = 0; t < count; ++t) {
        const bool counts = pooling == Pooling::kMean || t == (pooling == Pooling::kCls ? 0 : count - 1);
        for (size_t d = 0; counts && d < width; ++d) expected[d] += hidden[(first + t) * width + d];
      }
      double squares = 0.0, product = 0.0, own = 0.0;
      for (size_t d = 0; d < width; ++d) {
        squares += expected[d] * expected[d];
        product += expected[d] * embedding[d];
        own += double{embedding[d]} * embedding[d];
      }
      EXPECT_NEAR(own, 1.0, 1e-6);
      EXPECT_GT(product / std::sqrt(squares), 1.0 - 1e-6) << length << " tokens";
      first += count;
    }
  }
}

TEST(Embedding, ATightStoreDelaysButChangesNothing) {
  Setting tight{"qwen3.gguf", Pooling::kMean};
  const auto roomy = MakeEngine(tight, nullptr);
  tight.options.kv_bytes = roomy->info().kv_tokens > 0 ? (1 << 20) / roomy->info().kv_tokens * 16 * 5 : 0;
  const auto engine = MakeEngine(tight, nullptr);
  ASSERT_LE(engine->info().kv_tokens, 96);
  std::vector<std::vector<TokenId>> texts;
  for (uint32_t i = 0; i < 6; ++i) texts.push_back(RandomTokens(50, i));
  const auto together = Embed(*engine, texts, 24);
  for (size_t i = 0; i < texts.size(); ++i) ExpectSameBits(together[i], Embed(*roomy, {texts[i]}, 512)[0]);
}

TEST(Embedding, SharesStepsWithGeneration) {
  const auto engine = MakeEngine({"llama.gguf", {}}, nullptr);
  const auto text = RandomTokens(30, 4), prompt = RandomTokens(10, 5);
  const auto alone = Embed(*engine, {text}, 512)[0];
  BackendDriver driver(*engine, {.max_batch_tokens = 16}, FakeTokenizer());
  const GenerationRequest generation{
      .prompt = prompt, .sampling = {.temperature = 0.0f}, .max_tokens = 12, .top_logprobs = 0};
  const auto expected = driver.Generate(generation);
  const auto generated = driver.Submit(generation);
  const auto embedded = driver.Submit({.prompt = text, .embed = true, .cache_salt = 7});
  driver.Drain();
  Received first, second;
  Read(*generated, first);
  Read(*embedded, second);
  ASSERT_EQ(expected.tokens.size(), 12u);
  ASSERT_EQ(first.tokens.size(), expected.tokens.size());
  for (size_t i = 0; i < first.tokens.size(); ++i) EXPECT_EQ(first.tokens[i].chosen.id, expected.tokens[i].chosen.id);
  ExpectSameBits(second.events.back().embedding, alone);
}

TEST(Embedding, WhatDoesNotFitOrCannotBeIsRefused) {
  const auto encoder = MakeEngine({"bert.gguf", {}}, nullptr);
  EXPECT_TRUE(WarmUp(*encoder, 512));
  EXPECT_FALSE(encoder->info().causal);
  EXPECT_TRUE(CheckRequest({.prompt = RandomTokens(48, 1), .embed = true}, encoder->info())) << "as many as positions";
  const auto long_text = CheckRequest({.prompt = RandomTokens(49, 1), .embed = true}, encoder->info());
  ASSERT_FALSE(long_text);
  EXPECT_EQ(long_text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(long_text.error().message.find("at most 48"), std::string::npos) << long_text.error().message;
  EXPECT_FALSE(CheckRequest({.prompt = {1, 64}, .embed = true}, encoder->info())) << "no such token";
  const auto generation = CheckRequest({.prompt = {1, 2}}, encoder->info());
  ASSERT_FALSE(generation);
  EXPECT_EQ(generation.error().code, ErrorCode::kUnsupported);

  auto info = MakeEngine({"llama.gguf", {}}, nullptr)->info();
  info.pooling.type.reset();  // a reranker
  EXPECT_FALSE(CheckRequest({.prompt = {1, 2}, .embed = true}, info));
}

TEST(Embedding, AnEncoderRefusesToSample) {
  const auto encoder = MakeEngine({"bert.gguf", {}}, nullptr);
  const auto opened = encoder->Open(RandomTokens(5, 1), 0);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(encoder->Reserve(opened->sequence, 5));
  const auto result = encoder->ExecuteUnifiedBatch(
      {.items = {{.sequence = opened->sequence, .tokens = RandomTokens(5, 1), .outputs = {{.token_index = 4}}}}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("encoder"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::scheduler
