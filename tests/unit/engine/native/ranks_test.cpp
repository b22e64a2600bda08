// A model that several ranks share, as threads of one program, against one rank: tensor parallelism by tolerance, since
// sums of shards add in another order, and pipeline parallelism by bits.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "base/thread_pool.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "engine/native/native_backends.h"
#include "engine/native/ranks/rank_step.h"
#include "model/families/family.h"

namespace inferflux::engine {
NativeBackend CpuNativeBackend();
namespace {

using model::Parallelism;
using testing::HasSubstr;

std::shared_ptr<const model::ModelSource> Open(const std::string& name) {
  auto source =
      model::ModelSource::Open((std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / name).string());
  EXPECT_TRUE(source) << source.error().message;
  return *source;
}

// Rank 0 is the engine; the others run until it ends.
class SharedModel {
 public:
  SharedModel(const std::string& name, Parallelism parallelism, const std::string& other_name = "") {
    const auto source = Open(name);
    segment_ = *collective::Segment::Create(parallelism.ranks(), 4096);
    const auto options = [&](int32_t rank) {
      EngineOptions out{.max_sequences = 4, .block_size = 16, .kv_bytes = 1 << 20, .kv_dtype = "fp32"};
      pools_.push_back(std::make_unique<ThreadPool>(1));
      out.device.pool = pools_.back().get();
      out.parallelism = parallelism;
      out.ranks = *collective::SharedMemoryCollective::Join(segment_, rank);
      out.on_lost_rank = [this](const Error& why) { lost.push_back(why.message); };
      return out;
    };
    followed.resize(static_cast<size_t>(parallelism.ranks()));
    for (int32_t rank = 1; rank < parallelism.ranks(); ++rank) {
      followers_.emplace_back([this, rank, options = options(rank),
                               own = Open(other_name.empty() ? name : other_name)] {
        followed[static_cast<size_t>(rank)] = CpuNativeBackend().follow(*model::ReadModelConfig(*own), own, options);
      });
    }
    auto made = CpuNativeBackend().create(*model::ReadModelConfig(*source), source, options(0));
    if (made) {
      engine = std::move(*made);
    } else {
      error = made.error().message;
    }
  }
  ~SharedModel() { End(); }

  // As if another rank had died: its calls and those of the others fail.
  void Kill() { segment_->SetFailed({ErrorCode::kUnavailable, "rank 1 of 2 has died"}); }

  void End() {
    engine.reset();
    for (std::thread& follower : followers_) follower.join();
    followers_.clear();
  }

  std::unique_ptr<Engine> engine;
  std::string error;
  std::vector<std::string> lost;
  std::vector<Status> followed;  // by rank

 private:
  std::shared_ptr<collective::Segment> segment_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  std::vector<std::thread> followers_;
};

std::unique_ptr<Engine> Alone(const std::string& name, ThreadPool& pool) {
  const auto source = Open(name);
  EngineOptions options{.max_sequences = 4, .block_size = 16, .kv_bytes = 1 << 20, .kv_dtype = "fp32"};
  options.device.pool = &pool;
  auto engine = CpuNativeBackend().create(*model::ReadModelConfig(*source), source, options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

// The logits after each token of a prompt in chunks, with a fork on the way, whose first write copies a block, and a
// second sequence that wants one row of three.
std::vector<std::vector<float>> Logits(Engine& engine) {
  std::mt19937 random(11);
  std::vector<TokenId> prompt(41);
  for (TokenId& token : prompt)
    token = static_cast<TokenId>(random() % static_cast<uint32_t>(engine.info().vocab_size));
  std::vector<std::vector<float>> out;
  SequenceId sequence = engine.Open(std::vector<TokenId>{}, 1)->sequence;
  const SequenceId other = engine.Open(std::vector<TokenId>{}, 2)->sequence;
  for (size_t at = 0; at < prompt.size();) {
    const size_t count = std::min<size_t>(at == 0 ? 20 : 3, prompt.size() - at);
    if (at == 20) {
      sequence = *engine.Fork(sequence);
    }
    EXPECT_TRUE(engine.Reserve(sequence, static_cast<int32_t>(at + count)));
    BatchItem item{.sequence = sequence, .first_position = static_cast<int32_t>(at)};
    for (size_t i = 0; i < count; ++i) {
      item.tokens.push_back(prompt[at + i]);
      item.outputs.push_back({.token_index = static_cast<int32_t>(i), .kind = OutputSpec::Kind::kLogits});
    }
    const int32_t length = *engine.Length(other);
    EXPECT_TRUE(engine.Reserve(other, length + 3));
    BatchItem beside{.sequence = other, .tokens = {1, 2, 3}, .first_position = length};
    beside.outputs = {{.token_index = 1, .kind = OutputSpec::Kind::kHidden},
                      {.token_index = 2, .kind = OutputSpec::Kind::kLogits}};
    auto result = engine.ExecuteUnifiedBatch({.items = {beside, item}});
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return out;
    out.push_back(result->items[0][0].hidden);
    out.push_back(result->items[0][1].logits);
    for (auto& output : result->items[1]) out.push_back(std::move(output.logits));
    at += count;
  }
  return out;
}

float Difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0.0f, scale = 0.0f;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(a[i].size(), b[i].size());
    for (size_t j = 0; j < std::min(a[i].size(), b[i].size()); ++j) {
      most = std::max(most, std::abs(a[i][j] - b[i][j]));
      scale = std::max(scale, std::abs(a[i][j]));
    }
  }
  return most / scale;
}

class Ranks : public testing::TestWithParam<const char*> {};

TEST_P(Ranks, TensorParallelismGivesTheLogitsOfOneRank) {
  ThreadPool pool(1);
  const auto right = Logits(*Alone(GetParam(), pool));
  SharedModel shared(GetParam(), {.tensor = 2});
  ASSERT_EQ(shared.error, "");
  EXPECT_LT(Difference(right, Logits(*shared.engine)), 2e-5f);
  EXPECT_THAT(shared.engine->info().notes, testing::Contains(HasSubstr("tensor parallelism over 2 ranks")));
  EXPECT_FALSE(shared.engine->info().capabilities.kv_save_restore);
  shared.End();
  EXPECT_TRUE(shared.followed[1]) << shared.followed[1].error().message;
}

TEST_P(Ranks, PipelineParallelismGivesTheBitsOfOneRank) {
  ThreadPool pool(1);
  const auto right = Logits(*Alone(GetParam(), pool));
  SharedModel shared(GetParam(), {.pipeline = 2});
  ASSERT_EQ(shared.error, "");
  const auto found = Logits(*shared.engine);
  ASSERT_EQ(found.size(), right.size());
  for (size_t i = 0; i < right.size(); ++i) {
    ASSERT_EQ(found[i].size(), right[i].size());
    EXPECT_EQ(std::memcmp(found[i].data(), right[i].data(), right[i].size() * sizeof(float)), 0) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Ranks,
                         testing::Values("llama.gguf", "mistral.gguf", "qwen2.gguf", "qwen3.gguf", "gemma3.gguf",
                                         "granite.gguf", "smollm3.gguf", "gemma2.gguf", "starcoder2.gguf"),
                         [](const auto& info) { return std::string(info.param, std::strcspn(info.param, ".")); });

TEST(RankedModel, HoldsHalfOfTheWeightsAndTwiceTheTokens) {
  ThreadPool pool(1);
  const char* model = "../../../models/tiny/inferflux-tiny.gguf";  // large enough to fill whole panels
  const auto alone = Alone(model, pool);
  SharedModel shared(model, {.tensor = 2});
  ASSERT_EQ(shared.error, "");
  const int64_t table = Open(model)->Find("token_embd.weight")->data.size();
  const int64_t all = alone->info().memory[0].weight_bytes, own = shared.engine->info().memory[0].weight_bytes;
  // The embedding is whole: only its rows that a step names are read. Norms are not counted.
  EXPECT_EQ(2 * (own - table), all - table);
  EXPECT_GE(shared.engine->info().kv_tokens, alone->info().kv_tokens);
}

TEST(RankedModel, RefusesWhatCannotBeShared) {
  const auto error = [](const char* name, Parallelism parallelism) {
    const auto source = Open(name);
    const auto sharded = model::ShardConfig(*model::ReadModelConfig(*source), *source, parallelism, 0);
    return sharded ? "" : sharded.error().message;
  };
  EXPECT_THAT(error("llama.gguf", {.tensor = 4}), HasSubstr("4 ranks cannot share 2 KV heads of 'llama' evenly"));
  EXPECT_THAT(error("llama.gguf", {.tensor = 3}),
              HasSubstr("3 ranks cannot share 4 attention heads of 'llama' evenly"));
  EXPECT_THAT(error("llama.gguf", {.pipeline = 3}), HasSubstr("3 ranks cannot share 2 layers of 'llama'"));
  EXPECT_THAT(error("llama.gguf", {.tensor = 2, .pipeline = 2}), HasSubstr("they are not combined"));
  EXPECT_THAT(error("qwen3_moe.gguf", {.tensor = 2}), HasSubstr("'qwen3moe': it has experts"));
  EXPECT_THAT(error("bert.gguf", {.tensor = 2}), HasSubstr("it is an encoder"));
  EXPECT_THAT(error("phi3.gguf", {.tensor = 2}), HasSubstr("a tensor of its file stacks queries, keys and values"));
  EXPECT_EQ(error("phi3.gguf", {.pipeline = 2}), "");
  EXPECT_THAT(error("olmo2.gguf", {.tensor = 2}), HasSubstr("norms of queries and keys are over all heads"));
}

TEST(RankedModel, SharesAreWholeBlocks) {
  // 19 blocks of 256, as of Qwen2.5-0.5B's feed-forward networks.
  const model::Run first = model::ShareOf(4864, 256, 0, 2), second = model::ShareOf(4864, 256, 1, 2);
  EXPECT_EQ(first.first, 0);
  EXPECT_EQ(first.count, 9 * 256);
  EXPECT_EQ(second.first, first.count);
  EXPECT_EQ(second.count, 10 * 256);
  EXPECT_TRUE(model::ShareOf(4864, 256, 0, 1).whole());
}

TEST(RankedModel, RanksWithDifferentModelsFailTogether) {
  SharedModel shared("llama.gguf", {.tensor = 2}, "mistral.gguf");
  EXPECT_THAT(shared.error, HasSubstr("rank 1 has another model than rank 0"));
  shared.End();
  ASSERT_FALSE(shared.followed[1]);
  EXPECT_THAT(shared.followed[1].error().message, HasSubstr("rank 1 has another model than rank 0"));
}

TEST(RankedModel, AStepThatIsWrongEndsNothing) {
  SharedModel shared("llama.gguf", {.tensor = 2});
  ASSERT_EQ(shared.error, "");
  const SequenceId sequence = shared.engine->Open(std::vector<TokenId>{}, 1)->sequence;
  ASSERT_TRUE(shared.engine->Reserve(sequence, 4));
  EXPECT_FALSE(shared.engine->ExecuteUnifiedBatch({.items = {{.sequence = sequence, .tokens = {-5}}}}));
  EXPECT_THAT(shared.lost, testing::IsEmpty());
  EXPECT_TRUE(shared.engine->Prefill(sequence, std::vector<TokenId>{1, 2, 3}));
}

TEST(RankedModel, AStepWithoutAnotherRankFailsAndChangesNoSequence) {
  SharedModel shared("llama.gguf", {.tensor = 2});
  ASSERT_EQ(shared.error, "");
  const SequenceId sequence = shared.engine->Open(std::vector<TokenId>{}, 1)->sequence;
  ASSERT_TRUE(shared.engine->Prefill(sequence, std::vector<TokenId>{1, 2, 3}));
  shared.Kill();
  const auto step = shared.engine->Prefill(sequence, std::vector<TokenId>{4, 5});
  ASSERT_FALSE(step);
  EXPECT_EQ(*shared.engine->Length(sequence), 3);
  EXPECT_EQ(shared.lost.size(), 1u);
  EXPECT_FALSE(shared.engine->Prefill(sequence, std::vector<TokenId>{4, 5}));
  EXPECT_EQ(shared.lost.size(), 1u) << "it is told once";
}

}  // namespace
}  // namespace inferflux::engine
