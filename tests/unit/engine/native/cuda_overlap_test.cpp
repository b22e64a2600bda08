// Submit and Collect on CUDA, on the host executor, whose streams run late and in random orders: the host does not wait
// in Submit, and results are those of ExecuteUnifiedBatch to the last bit, whatever the host does in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compute/cuda/cuda_backend.h"
#include "compute/cuda/host_runtime.h"
#include "engine/native/native_engine.h"
#include "model/families/family.h"

namespace inferflux::engine {
namespace {

using compute::Cuda;
using ::testing::HasSubstr;

struct OpenedEngine {
  cuda::HostRuntime* device = nullptr;
  std::unique_ptr<Engine> engine;
};

OpenedEngine OpenOn(const std::string& name, uint64_t seed, bool graphs = true, int32_t streams = 1) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / (name + ".gguf");
  const auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  auto runtime = *cuda::HostRuntime::Open({.checked = false, .seed = seed});
  OpenedEngine out{.device = runtime.get(), .engine = nullptr};
  EngineOptions options{.max_sequences = 8, .block_size = 8, .kv_bytes = 1 << 20, .kv_dtype = "fp16"};
  options.graphs = graphs;
  options.streams = streams;
  auto engine = NativeEngine<Cuda, compute::KvFp16>::Create(*Cuda::Context::Open(std::move(runtime)),
                                                            *model::ReadModelConfig(**source), *source, options);
  EXPECT_TRUE(engine) << engine.error().message;
  out.engine = std::move(*engine);
  return out;
}

BatchItem ItemOf(SequenceId id, int32_t position, std::vector<TokenId> tokens, OutputSpec output = {}) {
  output.token_index = static_cast<int32_t>(tokens.size()) - 1;
  return {.sequence = id, .tokens = std::move(tokens), .first_position = position, .outputs = {std::move(output)}};
}

void ExpectEqualResults(const StepResult& a, const StepResult& b) {
  ASSERT_EQ(a.items.size(), b.items.size());
  for (size_t i = 0; i < a.items.size(); ++i) {
    ASSERT_EQ(a.items[i].size(), b.items[i].size());
    for (size_t o = 0; o < a.items[i].size(); ++o) {
      EXPECT_EQ(a.items[i][o].token, b.items[i][o].token);
      EXPECT_EQ(a.items[i][o].logits, b.items[i][o].logits);
      EXPECT_EQ(a.items[i][o].chosen.logprob, b.items[i][o].chosen.logprob);
    }
  }
}

// The same random life on two engines: one collects its steps later, and is used in between.
class TwoLives {
 public:
  TwoLives(const std::string& model, uint32_t seed, int32_t streams)
      : random_(seed), late_(OpenOn(model, seed, true, streams)), plain_(OpenOn(model, seed + 77, true, streams)) {}

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      if (live_.size() < 5 && Draw(2) == 0) OpenOne();
      const UnifiedBatch batch = NextBatch();
      if (batch.items.empty()) continue;
      ASSERT_TRUE(late_.engine->Submit(batch));
      InBetween(batch);
      const auto ours = late_.engine->Collect();
      const auto theirs = plain_.engine->ExecuteUnifiedBatch(batch);
      ASSERT_TRUE(ours) << ours.error().message;
      ASSERT_TRUE(theirs) << theirs.error().message;
      ExpectEqualResults(*ours, *theirs);
      for (const BatchItem& item : batch.items) {
        const int32_t length = item.first_position + static_cast<int32_t>(item.tokens.size());
        EXPECT_EQ(*late_.engine->Length(item.sequence), length);
      }
      EXPECT_EQ(late_.engine->usage().blocks_used, plain_.engine->usage().blocks_used);
    }
  }

 private:
  int32_t Draw(int32_t below) { return static_cast<int32_t>(random_() % static_cast<uint32_t>(below)); }

  void OpenOne() {
    const uint64_t salt = random_();
    const auto a = late_.engine->Open({}, salt), b = plain_.engine->Open({}, salt);
    ASSERT_TRUE(a && b);
    ASSERT_EQ(a->sequence, b->sequence);
    live_.push_back(a->sequence);
  }

  UnifiedBatch NextBatch() {
    UnifiedBatch batch;
    for (const SequenceId id : live_) {
      if (Draw(4) == 0) continue;
      const int32_t length = *plain_.engine->Length(id);
      const int32_t count = length == 0 || Draw(5) == 0 ? 1 + Draw(20) : 1;
      if (length + count > 100) continue;
      for (Engine* engine : {late_.engine.get(), plain_.engine.get()}) {
        EXPECT_TRUE(engine->Reserve(id, length + count));
      }
      std::vector<TokenId> tokens;
      for (int32_t t = 0; t < count; ++t) tokens.push_back(3 + Draw(20));
      OutputSpec output{.draw = static_cast<uint64_t>(length)};
      output.sampling.seed = 11;
      output.sampling.temperature = Draw(2) == 0 ? 0.0f : 0.9f;
      if (Draw(4) == 0) output.kind = OutputSpec::Kind::kLogits;
      if (Draw(5) == 0) output.top_logprobs = 2;  // sampled on the host
      batch.items.push_back(ItemOf(id, length, std::move(tokens), std::move(output)));
      if (Draw(6) == 0) batch.items.back().outputs.clear();  // a part of a prompt
    }
    return batch;
  }

  // Other sequences come, are saved and go; those of the step are not to be had.
  void InBetween(const UnifiedBatch& batch) {
    const SequenceId in_step = batch.items.front().sequence;
    for (const Status& refused :
         {late_.engine->Close(in_step), late_.engine->Truncate(in_step, 0), late_.engine->Reserve(in_step, 101),
          late_.engine->Fork(in_step).map([](SequenceId) {}), late_.engine->Save(in_step).map([](const auto&) {})}) {
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr("a sequence of the step that is under way"));
    }
    if (Draw(2) == 0) OpenOne();
    for (size_t i = 0; i < live_.size(); ++i) {
      const SequenceId id = live_[i];
      if (std::ranges::find(batch.items, id, &BatchItem::sequence) != batch.items.end() || Draw(3) != 0) continue;
      const auto ours = late_.engine->Save(id), theirs = plain_.engine->Save(id);
      ASSERT_TRUE(ours && theirs);
      EXPECT_EQ(*ours, *theirs);
      EXPECT_TRUE(late_.engine->Close(id));
      EXPECT_TRUE(plain_.engine->Close(id));
      live_.erase(live_.begin() + static_cast<ptrdiff_t>(i--));
    }
  }

  std::mt19937 random_;
  OpenedEngine late_, plain_;
  std::vector<SequenceId> live_;
};

TEST(CudaOverlap, RandomMixesHaveTheBitsOfStepsThatAreWaitedFor) {
  for (const std::string model : {"mistral", "lfm2"}) {  // with states that cannot be cut, too
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      SCOPED_TRACE(model + ", seed " + std::to_string(seed));
      TwoLives(model, seed, 1).Run(12);
    }
  }
}

TEST(CudaOverlap, RandomMixesOnTwoStreamsHaveTheBitsOfStepsThatAreWaitedFor) {
  for (uint32_t seed = 11; seed <= 13; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TwoLives("mistral", seed, 2).Run(12);
  }
  TwoLives("lfm2", 14, 2).Run(10);
}

// Parts of so few rows have the kernels of the whole, so the bits are those of one stream. Each sequence is a prompt in
// one step and decodes in the next, on the other stream; a block that was shared is copied in between.
TEST(CudaOverlap, TwoStreamsHaveTheBitsOfOne) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const OpenedEngine one = OpenOn("mistral", seed, true, 1), two = OpenOn("mistral", 100 + seed, true, 2);
    std::vector<std::vector<float>> logits[2];
    for (const OpenedEngine* opened : {&one, &two}) {
      Engine& engine = *opened->engine;
      auto& out = logits[opened == &two];
      SequenceId a = engine.Open({}, 1)->sequence;
      const SequenceId b = engine.Open({}, 2)->sequence;
      int32_t lengths[2] = {0, 0};
      for (int32_t step = 0; step < 8; ++step) {
        // In turn one has two tokens, which is no decode, and the other one has one.
        UnifiedBatch batch;
        for (int32_t s = 0; s < 2; ++s) {
          std::vector<TokenId> tokens(step % 2 == s ? 2 : 1, 3 + step + s);
          const SequenceId id = s == 0 ? a : b;
          const auto count = static_cast<int32_t>(tokens.size());
          ASSERT_TRUE(engine.Reserve(id, lengths[s] + count));
          batch.items.push_back(ItemOf(id, lengths[s], std::move(tokens), {.kind = OutputSpec::Kind::kLogits}));
          lengths[s] += count;
        }
        ASSERT_TRUE(engine.Submit(batch));
        const auto result = engine.Collect();
        ASSERT_TRUE(result) << result.error().message;
        for (const auto& item : result->items) out.push_back(item[0].logits);
        if (step == 3) {  // the fork copies its last block when it grows
          const auto fork = engine.Fork(a);
          ASSERT_TRUE(fork);
          a = *fork;  // and the other one goes on to hold the block
        }
      }
    }
    EXPECT_EQ(logits[0], logits[1]);
    EXPECT_EQ(one.engine->graphs().replays, 0) << "a mixed step is no captured one";
    EXPECT_EQ(two.engine->graphs().replays, 8) << "but its decodes are";
  }
}

TEST(CudaOverlap, WhatIsWrongWithAnItemHasItsNumberInTheWholeStep) {
  const OpenedEngine opened = OpenOn("mistral", 9, true, 2);
  Engine& engine = *opened.engine;
  const SequenceId a = engine.Open({}, 1)->sequence, b = engine.Open({}, 2)->sequence;
  for (const SequenceId id : {a, b}) ASSERT_TRUE(engine.Reserve(id, 20));
  const auto one = OpenOn("mistral", 9, true, 1);
  const SequenceId c = one.engine->Open({}, 1)->sequence, d = one.engine->Open({}, 2)->sequence;
  for (const SequenceId id : {c, d}) ASSERT_TRUE(one.engine->Reserve(id, 20));
  const auto ours = engine.ExecuteUnifiedBatch({{ItemOf(a, 0, {3}), ItemOf(b, 7, {3, 4})}});
  const auto theirs = one.engine->ExecuteUnifiedBatch({{ItemOf(c, 0, {3}), ItemOf(d, 7, {3, 4})}});
  ASSERT_FALSE(ours);
  EXPECT_EQ(ours.error().message, theirs.error().message);
  EXPECT_EQ(*engine.Length(a), 0);
}

TEST(CudaOverlap, SubmitWaitsForNothingAndCollectWaits) {
  for (const bool graphs : {false, true}) {
    OpenedEngine opened = OpenOn("mistral", 5, graphs);
    Engine& engine = *opened.engine;
    EXPECT_TRUE(engine.info().async_steps);
    const SequenceId a = engine.Open({}, 1)->sequence, b = engine.Open({}, 2)->sequence;
    for (const SequenceId id : {a, b}) ASSERT_TRUE(engine.Reserve(id, 60));
    ASSERT_TRUE(engine.ExecuteUnifiedBatch({{ItemOf(a, 0, {3, 4, 5}), ItemOf(b, 0, {6})}}));
    ASSERT_TRUE(engine.ExecuteUnifiedBatch({{ItemOf(a, 3, {7}), ItemOf(b, 1, {8})}}));  // memory, and the graph
    int64_t waits = opened.device->waits();
    ASSERT_TRUE(engine.Submit({{ItemOf(a, 4, {9}), ItemOf(b, 2, {10})}}));
    EXPECT_EQ(opened.device->waits(), waits) << "graphs: " << graphs;
    ASSERT_TRUE(engine.Collect());
    EXPECT_GT(opened.device->waits(), waits);
    waits = opened.device->waits();
    ASSERT_TRUE(engine.Submit({{ItemOf(a, 5, {9}), ItemOf(b, 3, std::vector<TokenId>(30, 7))}}));
    EXPECT_LE(opened.device->waits(), waits + 1) << "a larger step may free memory";
    ASSERT_TRUE(engine.Collect());
  }
}

TEST(CudaOverlap, OneStepAtATime) {
  const OpenedEngine opened = OpenOn("mistral", 6);
  Engine& engine = *opened.engine;
  const SequenceId a = engine.Open({}, 1)->sequence, b = engine.Open({}, 2)->sequence;
  for (const SequenceId id : {a, b}) ASSERT_TRUE(engine.Reserve(id, 20));
  EXPECT_EQ(engine.Collect().error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(engine.Submit({{ItemOf(a, 0, {3, 4, 5})}}));
  EXPECT_THAT(engine.Submit({{ItemOf(b, 0, {3})}}).error().message, HasSubstr("a step is under way"));
  EXPECT_THAT(engine.ExecuteUnifiedBatch({{ItemOf(b, 0, {3})}}).error().message, HasSubstr("a step is under way"));
  EXPECT_EQ(*engine.Length(a), 0) << "it has not grown yet";
  ASSERT_TRUE(engine.Collect());
  EXPECT_EQ(*engine.Length(a), 3);
  EXPECT_EQ(*engine.Length(b), 0);
  ASSERT_TRUE(engine.Submit({{ItemOf(a, 1, {3})}})) << "its position is wrong";
  EXPECT_EQ(engine.Collect().error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(engine.Submit({{ItemOf(a, 3, {3})}}));  // and is left to its fate
}

}  // namespace
}  // namespace inferflux::engine
