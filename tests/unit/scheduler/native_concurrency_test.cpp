// Many concurrent requests on the native CPU engine generate, token for token, what each generates alone: with shared
// prefixes, chunked prefill, preemptions forced by a small KV cache, and draft tokens.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "model/families/family.h"
#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

std::unique_ptr<engine::Engine> MakeEngine(ThreadPool& pool, const std::string& model, int64_t kv_bytes) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / model;
  const auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  auto engine =
      engine::CreateEngine("cpu", *model::ReadModelConfig(**source), *source,
                           {.max_sequences = 24, .block_size = 16, .kv_bytes = kv_bytes, .device = {.pool = &pool}});
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

std::vector<TokenId> Ids(const Received& received) {
  std::vector<TokenId> ids;
  for (const auto& token : received.tokens) ids.push_back(token.chosen.id);
  return ids;
}

// `tight_bytes` hold 40 blocks of 16 tokens.
void ExpectTheSameTogetherAsAlone(const std::string& model, int64_t tight_bytes) {
  ThreadPool pool(2);
  const auto roomy = MakeEngine(pool, model, 4 << 20);
  const auto vocab = static_cast<uint32_t>(roomy->info().vocab_size);
  std::mt19937 random(3);
  std::vector<GenerationRequest> requests(64);
  for (size_t i = 0; i < requests.size(); ++i) {
    auto& request = requests[i];
    request.prompt.assign(random() % 40, static_cast<TokenId>(i % 3));
    for (uint32_t more = 1 + random() % 30; more > 0; --more) {
      request.prompt.push_back(static_cast<TokenId>(random() % vocab));
    }
    request.sampling.temperature = i % 2 == 0 ? 0.0f : 1.0f;
    request.sampling.seed = i;
    request.max_tokens = 1 + static_cast<int32_t>(random() % 50);
  }

  const auto tight = MakeEngine(pool, model, tight_bytes);
  ASSERT_EQ(tight->info().kv_tokens, 40 * 16);
  BackendDriver together(
      *tight, {.speculation = {.kind = Speculation::Kind::kPromptLookup, .max_tokens = 4}, .max_batch_tokens = 48},
      FakeTokenizer());
  together.tick = std::chrono::microseconds(10);  // steps of any size take equally long: draft tokens cost nothing
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const auto& request : requests) streams.push_back(together.Submit(request));
  together.Drain();
  EXPECT_GT(together.core.stats().preemptions, 0) << "the test must exercise preemption";
  if (tight->info().capabilities.speculative_verification) {
    EXPECT_GT(together.core.stats().drafted_tokens, together.core.stats().accepted_tokens) << "and wrong guesses";
  } else {
    EXPECT_EQ(together.core.stats().drafted_tokens, 0) << "a rejected one could not be removed";
  }

  int64_t cached = 0;
  BackendDriver alone(*roomy, {}, FakeTokenizer());
  for (size_t i = 0; i < requests.size(); ++i) {
    Received received;
    Read(*streams[i], received);
    ASSERT_TRUE(received.done());
    cached += received.finish->usage.cached_tokens;
    auto unshared = requests[i];
    unshared.cache_salt = i;
    EXPECT_EQ(Ids(received), Ids(alone.Generate(unshared))) << "request " << i;
  }
  EXPECT_GT(cached, 0);
  EXPECT_EQ(tight->usage().blocks_used, 0);
}

TEST(NativeConcurrency, SixtyFourAtOnceSayWhatEachSaysAlone) {
  constexpr int64_t kTokenBytes = 2 * 2 * 2 * 8 * 2;  // K and V, 2 layers, 2 heads of 8, half floats
  ExpectTheSameTogetherAsAlone("llama.gguf", 40 * 16 * kTokenBytes);
}

TEST(NativeConcurrency, SoDoThoseOfAModelWithRecurrentLayers) {
  constexpr int64_t kTokenBytes = 2 * 2 * 20 * 2;                        // K and V, 2 layers, a head of 20, half floats
  ExpectTheSameTogetherAsAlone("lfm2.gguf", 2 * 40 * 16 * kTokenBytes);  // states take the other half
}

TEST(NativeConcurrency, SoDoThoseOfAModelWithLatents) {
  constexpr int64_t kTokenBytes = 5 * (20 + 6) * 2;  // a latent and a rotated key, 5 layers, half floats
  ExpectTheSameTogetherAsAlone("deepseek_v3.gguf", 40 * 16 * kTokenBytes);
}

TEST(NativeConcurrency, SoDoThoseOfAModelThatSelectsLatents) {
  constexpr int64_t kTokenBytes = 2 * (20 + 6 + 14) * 2;  // and an index key, 2 layers
  ExpectTheSameTogetherAsAlone("deepseek_v32.gguf", 40 * 16 * kTokenBytes);
}

}  // namespace
}  // namespace inferflux::scheduler
