// The native engine on small random models: the guarantees of a step, and that a prompt's logits do not depend on other
// sequences, on how it is cut into steps, or on what was cached.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/native/kv_budget.h"
#include "engine/native/native_backends.h"
#include "model/families/family.h"
#include "model/loading/per_layer_kv_model.h"

namespace inferflux::engine {
namespace {

using EnginePtr = std::unique_ptr<Engine>;
using Logits = std::vector<std::vector<float>>;  // [position][vocab]

const EngineOptions kOptions{.max_sequences = 16, .block_size = 16, .kv_bytes = 1 << 20};

constexpr const char* kLayersDiffer = "layers that differ in their KV heads";

// On the CPU backend if given a pool, else on the reference backend.
EnginePtr MakeEngine(const EngineOptions& options = kOptions, ThreadPool* pool = nullptr,
                     const std::string& model = "mistral.gguf") {
  const std::filesystem::path path = model == kLayersDiffer
                                         ? std::filesystem::path(model::testing::PerLayerKvModel(true))
                                         : std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / model;
  auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  auto config = model::ReadModelConfig(**source);
  EXPECT_TRUE(config) << config.error().message;
  EngineOptions pooled = options;
  pooled.device.pool = pool;
  auto engine = CreateEngine(pool != nullptr ? "cpu" : "reference", *config, *source, pooled);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

std::vector<TokenId> RandomTokens(int32_t count, int32_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % static_cast<uint32_t>(vocab));
  return tokens;
}

BatchItem ItemOf(SequenceId sequence, std::span<const TokenId> tokens, int32_t first) {
  BatchItem item{.sequence = sequence, .tokens = {tokens.begin(), tokens.end()}, .first_position = first};
  for (size_t i = 0; i < tokens.size(); ++i) {
    item.outputs.push_back({.token_index = static_cast<int32_t>(i), .kind = OutputSpec::Kind::kLogits});
  }
  return item;
}

// Logits after each token, fed in chunks, with `company` other sequences that advance in the same steps.
Logits RunPrompt(Engine& engine, const std::vector<TokenId>& prompt, size_t chunk, int company = 0, uint64_t salt = 1) {
  const int32_t vocab = engine.info().vocab_size;
  const SequenceId own = engine.Open(std::vector<TokenId>{}, salt)->sequence;
  std::vector<SequenceId> others;
  for (int i = 0; i < company; ++i) others.push_back(engine.Open(std::vector<TokenId>{}, 99)->sequence);
  Logits logits;
  for (size_t at = 0; at < prompt.size(); at += chunk) {
    const auto piece = std::span(prompt).subspan(at, std::min(chunk, prompt.size() - at));
    UnifiedBatch batch;
    for (size_t i = 0; i < others.size(); ++i) {
      const auto tokens = RandomTokens(1 + static_cast<int32_t>(i * 3 % 7), vocab, static_cast<uint32_t>(at + i));
      if (*engine.Length(others[i]) > 100) {
        EXPECT_TRUE(engine.Truncate(others[i], 0));
      }
      const int32_t length = *engine.Length(others[i]);
      EXPECT_TRUE(engine.Reserve(others[i], length + static_cast<int32_t>(tokens.size())));
      batch.items.push_back(ItemOf(others[i], tokens, length));
    }
    const auto place = batch.items.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
    EXPECT_TRUE(engine.Reserve(own, static_cast<int32_t>(at + piece.size())));
    batch.items.insert(place, ItemOf(own, piece, static_cast<int32_t>(at)));
    auto result = engine.ExecuteUnifiedBatch(batch);
    EXPECT_TRUE(result) << result.error().message;
    for (auto& output : result->items[others.size() / 2]) logits.push_back(std::move(output.logits));
  }
  EXPECT_TRUE(engine.Close(own));
  for (const auto& other : others) EXPECT_TRUE(engine.Close(other));
  return logits;
}

void ExpectSameBits(const Logits& a, const Logits& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    ASSERT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)), 0) << "position " << i;
  }
}

struct Setting {
  const char* model;
  bool cpu;  // else reference
  const char* kv_dtype;
};

class BitIdentity : public ::testing::TestWithParam<Setting> {};

TEST_P(BitIdentity, LogitsDoNotDependOnCompanyCutsOrThreads) {
  const auto [model, cpu, kv_dtype] = GetParam();
  EngineOptions options = kOptions;
  options.kv_dtype = kv_dtype;
  ThreadPool one(1), two(2);
  const auto engine = MakeEngine(options, cpu ? &one : nullptr, model);
  ASSERT_TRUE(engine->info().capabilities.batch_invariant);
  const auto prompt = RandomTokens(75, engine->info().vocab_size, 5);
  const Logits alone = RunPrompt(*engine, prompt, prompt.size());
  ASSERT_EQ(alone.size(), prompt.size());
  const auto threaded = cpu ? MakeEngine(options, &two, model) : nullptr;
  for (const auto& each : {engine.get(), threaded.get()}) {
    if (each == nullptr) continue;
    SCOPED_TRACE(each == engine.get() ? "1 thread" : "2 threads");
    ExpectSameBits(alone, RunPrompt(*each, prompt, prompt.size()));
    for (const size_t chunk : {size_t{1}, size_t{7}, size_t{64}}) {
      SCOPED_TRACE(chunk);
      ExpectSameBits(alone, RunPrompt(*each, prompt, chunk));
      ExpectSameBits(alone, RunPrompt(*each, prompt, chunk, 7));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BitIdentity,
    ::testing::Values(Setting{"mistral.gguf", false, "fp32"}, Setting{"mistral.gguf", false, "fp16"},
                      Setting{"mistral.gguf", false, "bf16"}, Setting{"mistral.gguf", true, "fp32"},
                      Setting{"mistral.gguf", true, "fp16"}, Setting{"mistral.gguf", true, "bf16"},
                      Setting{"mistral.gguf", false, "int8"}, Setting{"mistral.gguf", true, "int8"},
                      Setting{"mistral.gguf", true, "fp8"}, Setting{"llama3.gguf", true, "fp16"},
                      Setting{"qwen3.gguf", true, "fp16"}, Setting{"lfm2.gguf", false, "fp32"},
                      Setting{"lfm2.gguf", true, "fp16"}, Setting{"lfm2.gguf", true, "int8"},
                      Setting{"qwen3_next.gguf", false, "fp32"}, Setting{"qwen3_next.gguf", true, "fp16"},
                      Setting{"qwen3_5.gguf", true, "fp16"}, Setting{"qwen3_5_moe.gguf", true, "fp16"},
                      Setting{"gemma4.gguf", false, "fp32"}, Setting{"gemma4.gguf", true, "int8"},
                      Setting{"gemma3n.gguf", false, "fp32"}, Setting{"gemma3n.gguf", true, "fp16"},
                      Setting{"gemma3n.gguf", true, "int8"}, Setting{"apertus.gguf", true, "fp16"},
                      Setting{"phimoe.gguf", true, "fp16"}, Setting{"llama4_chunks.gguf", false, "fp32"},
                      Setting{"llama4_chunks.gguf", true, "int8"}, Setting{"gemma4_moe.gguf", true, "fp16"},
                      Setting{"ministral3.gguf", true, "fp16"}, Setting{"mamba2.gguf", false, "fp32"},
                      Setting{"mamba2.gguf", true, "fp16"}, Setting{"nemotron_h.gguf", true, "fp16"},
                      Setting{"nemotron_h_moe.gguf", true, "int8"}, Setting{"granite_hybrid.gguf", true, "fp16"},
                      Setting{"granite_hybrid_moe.gguf", true, "fp16"}, Setting{"falcon_h1.gguf", false, "fp32"},
                      Setting{"falcon_h1.gguf", true, "fp16"}, Setting{"deepseek_v3.gguf", false, "fp32"},
                      Setting{"deepseek_v3.gguf", true, "fp16"}, Setting{"deepseek_v2_lite.gguf", true, "int8"},
                      Setting{"deepseek_v32.gguf", true, "fp16"}, Setting{"deepseek_v32.gguf", true, "int8"},
                      Setting{"glm_moe_dsa.gguf", true, "fp32"}, Setting{kLayersDiffer, false, "int8"},
                      Setting{kLayersDiffer, true, "fp16"}, Setting{kLayersDiffer, true, "int8"}));

TEST(NativeEngine, ACachedPrefixGivesTheSameBitsAsComputingIt) {
  ThreadPool pool(2);
  const auto engine = MakeEngine(kOptions, &pool);
  const auto prompt = RandomTokens(60, engine->info().vocab_size, 6);
  const Logits computed = RunPrompt(*engine, prompt, prompt.size(), 0, 3);
  for (const int32_t cut : {60, 41}) {  // the whole prompt, and a length inside a block
    std::vector<TokenId> second(prompt.begin(), prompt.begin() + cut);
    second.push_back(prompt[0]);
    const auto match = engine->Open(second, 3);
    ASSERT_EQ(match->cached_tokens, cut);
    // The last cached token once more, now computed after shared blocks.
    ASSERT_TRUE(engine->Truncate(match->sequence, cut - 1));
    ASSERT_TRUE(engine->Reserve(match->sequence, cut));
    const auto again = std::span(prompt).subspan(static_cast<size_t>(cut - 1), 1);
    const auto result = engine->ExecuteUnifiedBatch({.items = {ItemOf(match->sequence, again, cut - 1)}});
    ASSERT_TRUE(result) << result.error().message;
    ExpectSameBits({computed[static_cast<size_t>(cut - 1)]}, {result->items[0][0].logits});
    ASSERT_TRUE(engine->Close(match->sequence));
  }
}

// The logits after tokens [first, prompt.size()) of a sequence that has the tokens before them.
Logits Continue(Engine& engine, SequenceId sequence, const std::vector<TokenId>& prompt, int32_t first) {
  EXPECT_TRUE(engine.Reserve(sequence, static_cast<int32_t>(prompt.size())));
  const auto rest = std::span(prompt).subspan(static_cast<size_t>(first));
  auto result = engine.ExecuteUnifiedBatch({.items = {ItemOf(sequence, rest, first)}});
  EXPECT_TRUE(result) << result.error().message;
  Logits logits;
  if (!result) return logits;
  for (auto& output : result->items[0]) logits.push_back(std::move(output.logits));
  return logits;
}

Logits From(const Logits& logits, int32_t first) { return {logits.begin() + first, logits.end()}; }

// Of models whose sequences can be cut anywhere.
class CutSequences : public BitIdentity {};

TEST_P(CutSequences, ForksCutsAndCachedPrefixesGoOnWithTheBitsOfAnUndisturbedOne) {
  const auto [model, cpu, kv_dtype] = GetParam();
  EngineOptions options = kOptions;
  options.kv_dtype = kv_dtype;
  ThreadPool pool(2);
  const auto engine = MakeEngine(options, cpu ? &pool : nullptr, model);
  const auto prompt = RandomTokens(75, engine->info().vocab_size, 6);
  const Logits whole = RunPrompt(*engine, prompt, prompt.size(), 0, 3);

  const SequenceId first = engine->Open(std::vector<TokenId>{}, 9)->sequence;
  std::vector<TokenId> other(prompt.begin(), prompt.begin() + 37);
  Continue(*engine, first, other, 0);
  const SequenceId second = *engine->Fork(first);
  other.resize(60, 1);
  Continue(*engine, second, other, 37);
  ASSERT_TRUE(engine->Truncate(second, 30)) << "inside a block that was shared";
  ExpectSameBits(From(whole, 30), Continue(*engine, second, prompt, 30));
  ExpectSameBits(From(whole, 37), Continue(*engine, first, prompt, 37));
  ASSERT_TRUE(engine->Truncate(first, 16));
  ExpectSameBits(From(whole, 16), Continue(*engine, first, prompt, 16));

  const auto match = engine->Open(prompt, 3);
  ASSERT_GE(match->cached_tokens, 64);
  ASSERT_TRUE(engine->Truncate(match->sequence, 41));
  ExpectSameBits(From(whole, 41), Continue(*engine, match->sequence, prompt, 41));
}

INSTANTIATE_TEST_SUITE_P(
    All, CutSequences,
    ::testing::Values(Setting{"mistral.gguf", true, "fp16"}, Setting{"deepseek_v2_lite.gguf", true, "int8"},
                      Setting{"deepseek_v3.gguf", true, "fp16"}, Setting{"deepseek_v32.gguf", false, "fp16"},
                      Setting{"deepseek_v32.gguf", true, "int8"}, Setting{"glm_moe_dsa.gguf", true, "fp32"}));

// Recurrent layers: a prefix is found as far as a state was stored, and nothing else changes.
class RecurrentEngine : public ::testing::Test {
 protected:
  ThreadPool pool{2};
  EnginePtr engine = MakeEngine(kOptions, &pool, "lfm2.gguf");
  std::vector<TokenId> prompt = RandomTokens(75, engine->info().vocab_size, 6);
  Logits whole = RunPrompt(*engine, prompt, prompt.size(), 0, 3);
};

TEST_F(RecurrentEngine, SaysThatItCannotVerifyDrafts) {
  EXPECT_FALSE(engine->info().capabilities.speculative_verification);
  EXPECT_TRUE(engine->info().capabilities.prefix_copy);
  EXPECT_TRUE(engine->info().capabilities.kv_save_restore);
  EXPECT_TRUE(engine->info().capabilities.batch_invariant);
}

TEST_F(RecurrentEngine, ACachedPrefixGivesTheSameBitsAsComputingIt) {
  // The checkpoint of the only step: the last end of a block of 16.
  const auto match = engine->Open(prompt, 3);
  ASSERT_EQ(match->cached_tokens, 64);
  ExpectSameBits(From(whole, 64), Continue(*engine, match->sequence, prompt, 64));
  ASSERT_TRUE(engine->Close(match->sequence));
  // Shorter steps leave more of them.
  RunPrompt(*engine, prompt, 20, 0, 4);
  std::vector<TokenId> other(prompt.begin(), prompt.begin() + 40);
  other.push_back(prompt[0]);
  const auto shorter = engine->Open(other, 4);
  EXPECT_EQ(shorter->cached_tokens, 32);
  std::vector<TokenId> same(prompt.begin(), prompt.begin() + 40);
  ExpectSameBits({whole.begin() + 32, whole.begin() + 40}, Continue(*engine, shorter->sequence, same, 32));
  EXPECT_EQ(engine->Open(prompt, 5)->cached_tokens, 0) << "another salt";
}

TEST_F(RecurrentEngine, AForkContinuesFromTheSameState) {
  const std::vector<TokenId> half(prompt.begin(), prompt.begin() + 37);
  const SequenceId first = engine->Open(std::vector<TokenId>{}, 9)->sequence;
  Continue(*engine, first, half, 0);
  const SequenceId second = *engine->Fork(first);
  std::vector<TokenId> noise(half);
  for (int i = 0; i < 5; ++i) noise.push_back(1);
  Continue(*engine, first, noise, 37);
  ExpectSameBits(From(whole, 37), Continue(*engine, second, prompt, 37));
}

TEST_F(RecurrentEngine, IsCutOnlyWhereItsStateIsKnown) {
  const SequenceId id = engine->Open(std::vector<TokenId>{}, 9)->sequence;
  Continue(*engine, id, prompt, 0);
  const auto refused = engine->Truncate(id, 50);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("after 0: compute the tokens again"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(*engine->Length(id), 75) << "nothing has changed";
  ASSERT_TRUE(engine->Truncate(id, 75));
  ASSERT_TRUE(engine->Truncate(id, 64));
  ExpectSameBits(From(whole, 64), Continue(*engine, id, prompt, 64));
  ASSERT_TRUE(engine->Truncate(id, 0));
  ExpectSameBits(whole, Continue(*engine, id, prompt, 0));
}

TEST_F(RecurrentEngine, IsSavedAndRestoredWithItsState) {
  const std::vector<TokenId> half(prompt.begin(), prompt.begin() + 37), less(prompt.begin(), prompt.begin() + 36);
  const SequenceId first = engine->Open(std::vector<TokenId>{}, 9)->sequence;
  Continue(*engine, first, half, 0);
  const auto saved = engine->Save(first);
  ASSERT_TRUE(saved) << saved.error().message;
  ASSERT_TRUE(engine->Close(first));
  RunPrompt(*engine, RandomTokens(75, engine->info().vocab_size, 11), 75, 7, 12);  // others take its memory
  const auto again = engine->Restore(half, 9, *saved);
  ASSERT_TRUE(again) << again.error().message;
  ExpectSameBits(From(whole, 37), Continue(*engine, *again, prompt, 37));
  EXPECT_EQ(engine->Restore(less, 9, *saved).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(engine->Restore(half, 9, std::span(*saved).first(saved->size() / 3)));
  EXPECT_FALSE(engine->Restore(half, 9, std::span(*saved).first(4)));
}

// A state has a fixed size, so memory bounds the number of sequences.
TEST_F(RecurrentEngine, FewerSequencesLiveWhereMemoryIsShort) {
  EngineOptions small = kOptions;
  small.kv_bytes = 40000;  // a state of three layers has 648 bytes
  EXPECT_EQ(MakeEngine(small, &pool, "lfm2.gguf")->info().max_sequences, 7);
}

TEST(NativeEngine, AForkGoesItsOwnWay) {
  const auto engine = MakeEngine();
  const auto prompt = RandomTokens(20, engine->info().vocab_size, 8);
  const auto next = RandomTokens(2, engine->info().vocab_size, 9);
  std::vector<TokenId> whole(prompt);
  whole.push_back(next[1]);
  const Logits expected = RunPrompt(*engine, whole, whole.size(), 0, 1);

  const SequenceId first = engine->Open(std::vector<TokenId>{}, 2)->sequence;
  ASSERT_TRUE(engine->Reserve(first, 20));
  ASSERT_TRUE(engine->ExecuteUnifiedBatch({.items = {ItemOf(first, prompt, 0)}}));
  const SequenceId second = *engine->Fork(first);
  ASSERT_TRUE(engine->Reserve(first, 21));
  ASSERT_TRUE(engine->Reserve(second, 21));
  const auto result = engine->ExecuteUnifiedBatch(
      {.items = {ItemOf(first, std::span(next).first(1), 20), ItemOf(second, std::span(next).last(1), 20)}});
  ASSERT_TRUE(result) << result.error().message;
  ExpectSameBits({expected[20]}, {result->items[1][0].logits});
}

TEST(NativeEngine, AStepWithoutOutputsOnlyFillsKv) {
  const auto engine = MakeEngine();
  const SequenceId id = engine->Open(std::vector<TokenId>{}, 0)->sequence;
  ASSERT_TRUE(engine->Reserve(id, 3));
  const auto result = engine->ExecuteUnifiedBatch({.items = {{.sequence = id, .tokens = {1, 2, 3}}}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->items.at(0).empty());
  EXPECT_EQ(*engine->Length(id), 3);
}

TEST(NativeEngine, GreedySamplingTakesTheHighestOfTheRowAskedFor) {
  const auto engine = MakeEngine();
  const auto prompt = RandomTokens(12, engine->info().vocab_size, 4);
  const Logits logits = RunPrompt(*engine, prompt, prompt.size(), 0, 1);
  const SequenceId id = engine->Open(std::vector<TokenId>{}, 2)->sequence;
  ASSERT_TRUE(engine->Reserve(id, 12));
  BatchItem item{.sequence = id, .tokens = prompt};
  for (const int32_t index : {11, 4}) item.outputs.push_back({.token_index = index, .sampling = {.temperature = 0}});
  const auto result = engine->ExecuteUnifiedBatch({.items = {item}});
  ASSERT_TRUE(result);
  for (const size_t i : {0, 1}) {
    const auto& row = logits[i == 0 ? 11 : 4];
    EXPECT_EQ(result->items[0][i].token, std::max_element(row.begin(), row.end()) - row.begin());
  }
}

TEST(NativeEngine, AWrongBatchIsRefusedByNameAndChangesNothing) {
  const auto engine = MakeEngine();
  const int32_t vocab = engine->info().vocab_size;
  const SequenceId id = engine->Open(std::vector<TokenId>{}, 0)->sequence;
  const SequenceId closed = engine->Open(std::vector<TokenId>{}, 0)->sequence;
  ASSERT_TRUE(engine->Close(closed));
  ASSERT_TRUE(engine->Reserve(id, 4));
  const BatchItem good{.sequence = id, .tokens = {1, 2}};
  const auto refused = [&](auto change, const std::string& what) {
    UnifiedBatch batch{.items = {good}};
    change(batch.items[0]);
    const auto result = engine->ExecuteUnifiedBatch(batch);
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find(what), std::string::npos) << result.error().message;
    EXPECT_EQ(*engine->Length(id), 0);
  };
  refused([](BatchItem& item) { item.tokens.clear(); }, "no tokens");
  refused([&](BatchItem& item) { item.tokens[1] = vocab; }, "vocabulary ends at");
  refused([](BatchItem& item) { item.tokens[0] = -1; }, "token -1");
  refused([](BatchItem& item) { item.first_position = 1; }, "first position is 1");
  refused([](BatchItem& item) { item.tokens.assign(17, 1); }, "room for 16");
  refused([&](BatchItem& item) { item.tokens.assign(static_cast<size_t>(engine->info().context) + 1, 1); },
          "pass the context");
  refused([](BatchItem& item) { item.outputs = {{.token_index = 2}}; }, "after token 2 of 2");
  refused([&](BatchItem& item) { item.outputs = {{.banned = {vocab}}}; }, "banned token");
  refused([&](BatchItem& item) { item.outputs = {{.mask = std::make_shared<const TokenMask>(vocab + 1)}}; },
          "a mask of");
  refused([](BatchItem& item) { item.outputs = {{.sampling = {.logit_bias = {{-5, 1.0f}}}}}; }, "logit_bias");
  refused([&](BatchItem& item) { item.sequence = closed; }, "no live sequence");
  EXPECT_FALSE(engine->ExecuteUnifiedBatch({.items = {good, good}}));
  EXPECT_FALSE(engine->ExecuteUnifiedBatch({}));
  EXPECT_TRUE(engine->ExecuteUnifiedBatch({.items = {good}}));
}

TEST(NativeEngine, AnUnknownKvTypeIsRefusedWithTheKnownOnes) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models/mistral.gguf";
  const auto source = *model::ModelSource::Open(path.string());
  const auto engine = CreateEngine("reference", *model::ReadModelConfig(*source), source, {.kv_dtype = "int3"});
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message.find("fp32, fp16, bf16, int8, fp8"), std::string::npos) << engine.error().message;
}

TEST_P(BitIdentity, SavedKvGoesOnInAnotherEngineAsIfItHadNeverLeft) {
  const auto [model, cpu, kv_dtype] = GetParam();
  EngineOptions options = kOptions;
  options.kv_dtype = kv_dtype;
  ThreadPool pool(1);
  const auto first = MakeEngine(options, cpu ? &pool : nullptr, model);
  const auto second = MakeEngine(options, cpu ? &pool : nullptr, model);
  const auto prompt = RandomTokens(53, first->info().vocab_size, 9);  // three blocks and a part of one
  const Logits whole = RunPrompt(*second, prompt, prompt.size());

  const SequenceId saved = first->Open({}, 1)->sequence;
  ASSERT_TRUE(first->Reserve(saved, 64));
  ASSERT_TRUE(first->ExecuteUnifiedBatch({.items = {ItemOf(saved, std::span(prompt).first(50), 0)}}));
  const auto bytes = first->Save(saved);
  ASSERT_TRUE(bytes) << bytes.error().message;

  for (const size_t length : {size_t{50}, size_t{33}}) {  // all of it, and a prefix of a longer conversation
    const auto restored = second->Restore(std::span(prompt).first(length), 77 + length, *bytes);
    if (length < 50 && !second->info().capabilities.speculative_verification) {
      EXPECT_EQ(restored.error().code, ErrorCode::kUnsupported) << "a recurrent state cannot be cut";
      continue;
    }
    ASSERT_TRUE(restored) << restored.error().message;
    ASSERT_TRUE(second->Reserve(*restored, 53));
    const auto rest = std::span(prompt).subspan(length);
    const auto result = second->ExecuteUnifiedBatch({.items = {ItemOf(*restored, rest, static_cast<int32_t>(length))}});
    ASSERT_TRUE(result) << result.error().message;
    Logits logits;
    for (const auto& output : result->items[0]) logits.push_back(output.logits);
    ExpectSameBits(Logits(whole.begin() + static_cast<std::ptrdiff_t>(length), whole.end()), logits);
    ASSERT_TRUE(second->Close(*restored));
  }
  const auto open = second->usage().blocks_used;
  EXPECT_FALSE(second->Restore(prompt, 5, std::span(*bytes).first(bytes->size() / 4 * 3))) << "too short";
  EXPECT_FALSE(second->Restore(prompt, 5, std::span(*bytes).first(bytes->size() - 1))) << "no whole number of blocks";
  EXPECT_EQ(second->usage().blocks_used, open) << "nothing is kept of what was refused";
}

TEST(KvBudget, CountsWhatIsThereAndNamesWhatCannotBe) {
  // Layers may differ, and one may keep no KV.
  const model::ModelConfig config{.context = 1000, .layer_kinds = {{.kv = {2, 64}}, {.kv = {}}, {.kv = {1, 32, 128}}}};
  const int64_t token_bytes = compute::KvTokenBytes<compute::KvFp16>(KvLayers(config));
  EXPECT_EQ(token_bytes, 2 * (2 * 64 + 32) * 2);
  EXPECT_EQ(compute::KvTokenBytes<compute::KvInt8>(KvLayers(config)), 2 * (2 * (64 + 4) + 32 + 4)) << "a scale a head";
  const int64_t block_bytes = token_bytes * 16;
  const EngineOptions options{.max_sequences = 4, .block_size = 16};
  EXPECT_EQ(PlanKv(config, token_bytes, options, block_bytes * 40)->blocks, 10) << "a quarter of what is free";
  EXPECT_EQ(PlanKv(config, token_bytes, options, block_bytes * 40)->context, 160)
      << "what one sequence can really have";
  EXPECT_EQ(PlanKv(config, token_bytes, options, int64_t{1} << 50)->blocks, 4 * 63 + 1) << "no more than can be used";
  EXPECT_EQ(PlanKv(config, token_bytes, options, int64_t{1} << 50)->context, 1000);
  EXPECT_EQ(PlanKv(config, token_bytes, options, 100).error().code, ErrorCode::kResourceExhausted);
  const auto refused = [&](EngineOptions wrong) {
    const auto plan = PlanKv(config, token_bytes, wrong, int64_t{1} << 40);
    return !plan && plan.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({.context = 1001}));
  EXPECT_TRUE(refused({.max_sequences = 0}));
  EXPECT_TRUE(refused({.block_size = 0}));
  EXPECT_TRUE(refused({.kv_bytes = -1}));
  EXPECT_GT(AvailableMemory(), int64_t{1} << 20);
}

}  // namespace
}  // namespace inferflux::engine
