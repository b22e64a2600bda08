// What the ranks of a model tell each other: steps, budgets, and the number of their model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "collective/shared_memory/shared_memory_collective.h"
#include "engine/native/ranks/load_shard.h"
#include "engine/native/ranks/rank_leader.h"
#include "engine/native/ranks/rank_step.h"
#include "formats/gguf/gguf_writer.h"

namespace inferflux::engine {
namespace {

namespace fs = std::filesystem;

struct TwoRanks {
  std::shared_ptr<collective::Segment> segment = *collective::Segment::Create(2, 4096);
  std::shared_ptr<collective::Collective> first = *collective::SharedMemoryCollective::Join(segment, 0);
  std::shared_ptr<collective::Collective> second = *collective::SharedMemoryCollective::Join(segment, 1);
};

RankStep Sent(const RankStep& step) {
  TwoRanks ranks;
  auto received = std::async(std::launch::async, [&] { return ReceiveStep(*ranks.second); });
  EXPECT_TRUE(SendStep(*ranks.first, step));
  auto out = received.get();
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(RankStep());
}

TEST(RankMessages, AStepArrivesAsItWasSent) {
  RankStep step{.kind = RankStep::Kind::kForward,
                .output_rows = {1, 2, 2},
                .token_types = {0, 1, 0, 1},
                .logits = true,
                .logit_rows = {2, 0}};
  step.geometry = {.tokens = {10, 11, 12},
                   .positions = {5, 6, 0},
                   .query_starts = {0, 2, 3},
                   .table_starts = {0, 1, 4},
                   .block_tables = {7, 8, 9, 3}};
  step.geometry.block_size = 16;
  for (const bool logits : {true, false}) {
    step.logits = logits;
    const RankStep got = Sent(step);
    EXPECT_EQ(got.kind, step.kind);
    EXPECT_EQ(got.geometry.block_size, 16);
    EXPECT_EQ(got.geometry.tokens, step.geometry.tokens);
    EXPECT_EQ(got.geometry.positions, step.geometry.positions);
    EXPECT_EQ(got.geometry.query_starts, step.geometry.query_starts);
    EXPECT_EQ(got.geometry.table_starts, step.geometry.table_starts);
    EXPECT_EQ(got.geometry.block_tables, step.geometry.block_tables);
    EXPECT_EQ(got.output_rows, step.output_rows);
    EXPECT_EQ(got.token_types, step.token_types);
    EXPECT_EQ(got.logit_rows, step.logit_rows);
    EXPECT_EQ(got.logits, logits);
  }
  const RankStep copy = Sent({.kind = RankStep::Kind::kCopyBlock, .copy = {.from = 4, .to = 9}});
  EXPECT_EQ(copy.kind, RankStep::Kind::kCopyBlock);
  EXPECT_EQ(copy.copy.from, 4);
  EXPECT_EQ(copy.copy.to, 9);
  EXPECT_EQ(Sent({}).kind, RankStep::Kind::kEnd);
}

TEST(RankMessages, TheBudgetIsTheLeastOfEachKind) {
  const auto agreed = [](const Result<KvBudget>& one, const Result<KvBudget>& other, uint64_t model) {
    TwoRanks ranks;
    auto theirs = std::async(std::launch::async, [&] { return AgreeOnBudget(*ranks.second, other, model); });
    const auto own = AgreeOnBudget(*ranks.first, one, 5);
    const auto text = [](const Result<KvBudget>& budget) {
      if (!budget) return budget.error().message;
      return fmt::format("{} blocks, context {}, {} states, {} sequences", budget->blocks, budget->context,
                         budget->states, budget->sequences);
    };
    return text(own) + " | " + text(theirs.get());
  };
  const auto twice = [](const std::string& text) { return text + " | " + text; };
  const KvBudget one{.blocks = 10, .context = 200, .states = 30, .sequences = 8};
  EXPECT_EQ(agreed(one, KvBudget{.blocks = 20, .context = 100, .states = 40, .sequences = 4}, 5),
            twice("10 blocks, context 100, 30 states, 4 sequences"));
  EXPECT_EQ(agreed(one, KvBudget{.blocks = 9, .context = 300, .states = 20, .sequences = 16}, 5),
            twice("9 blocks, context 200, 20 states, 8 sequences"));
  EXPECT_EQ(agreed(one, one, 6),
            twice("rank 1 has another model than rank 0: its file differs, or its version of InferFlux"));
  EXPECT_EQ(agreed(one, Fail(ErrorCode::kResourceExhausted, "no memory there"), 5),
            "rank 1: no memory there | no memory there");
}

struct TensorShape {
  std::string name = "a.weight";
  formats::TensorType type = formats::TensorType::kF16;
  uint64_t cols = 64, rows = 2;
};

TEST(RankMessages, EachPartOfAModelCountsInItsNumber) {
  const fs::path path = fs::path(::testing::TempDir()) / fmt::format("rank-model-{}.gguf", ::getpid());
  const auto open = [&](const TensorShape& shape) {
    fs::remove(path);
    std::ofstream out(path, std::ios::binary);
    formats::GgufWriter writer(out);
    writer.Set("general.architecture", "llama");
    const auto dimensions = std::to_array({shape.cols, shape.rows});
    EXPECT_TRUE(writer.AddTensor(shape.name, shape.type, dimensions));
    EXPECT_TRUE(writer.WriteHeader());
    EXPECT_TRUE(writer.WriteData(std::vector<std::byte>(shape.cols * shape.rows * 2)));
    EXPECT_TRUE(writer.Finish());
    out.close();
    auto source = model::ModelSource::Open(path.string());
    EXPECT_TRUE(source) << source.error().message;
    return *source;
  };
  model::ModelConfig config;
  config.architecture = "llama";
  config.vocab_size = 10;
  config.hidden = 20;
  config.layers = 3;
  config.heads = 4;
  config.feed_forward = 50;
  std::vector<uint64_t> numbers;
  const auto plain = open({});
  numbers.push_back(ModelNumber(config, *plain));
  EXPECT_EQ(ModelNumber(config, *open({})), numbers[0]) << "the same file elsewhere";
  const auto changed = [&](auto change) {
    model::ModelConfig other = config;
    change(other);
    numbers.push_back(ModelNumber(other, *plain));
  };
  changed([](auto& c) { c.architecture = "llamb"; });
  changed([](auto& c) { ++c.vocab_size; });
  changed([](auto& c) { ++c.hidden; });
  changed([](auto& c) { ++c.layers; });
  changed([](auto& c) { ++c.heads; });
  changed([](auto& c) { ++c.feed_forward; });
  for (const TensorShape& shape :
       {TensorShape{.name = "b.weight"}, TensorShape{.type = formats::TensorType::kBf16}, TensorShape{.cols = 32},
        TensorShape{.rows = 4}, TensorShape{.cols = 32, .rows = 4}}) {
    numbers.push_back(ModelNumber(config, *open(shape)));
  }
  fs::remove(path);
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(numbers[i], numbers[j]) << i << ", " << j;
  }
}

TEST(RankMessages, ALeaderTellsOfALossOnceAndEndsTheOthers) {
  TwoRanks ranks;
  std::vector<std::string> lost;
  {
    RankLeader leader(ranks.first, [&](const Error& why) { lost.push_back(why.message); });
    EXPECT_TRUE(leader.leads());
    const auto fails = [] { return Status(Fail(ErrorCode::kIo, "wrong")); };
    EXPECT_FALSE(leader.Guard(fails)) << "nothing was announced: the step is wrong, and no rank waits in it";
    EXPECT_TRUE(lost.empty());
    auto received = std::async(std::launch::async, [&] { return ReceiveStep(*ranks.second); });
    EXPECT_TRUE(leader.Guard([&] { return leader.Announce({.kind = RankStep::Kind::kCopyBlock}); }));
    EXPECT_EQ(received.get()->kind, RankStep::Kind::kCopyBlock);
    EXPECT_FALSE(leader.Guard(fails)) << "of this one nothing was announced either";
    EXPECT_TRUE(lost.empty());
    EXPECT_FALSE(leader.GuardEnd(fails));
    EXPECT_EQ(lost, (std::vector<std::string>{"wrong"}));
    EXPECT_FALSE(leader.GuardEnd(fails));
    EXPECT_EQ(lost.size(), 1u);
    EXPECT_FALSE(ReceiveStep(*ranks.second)) << "the other rank does not wait for ever";
  }
  TwoRanks others;
  auto received = std::async(std::launch::async, [&] { return ReceiveStep(*others.second); });
  { const RankLeader leader(others.first, nullptr); }
  EXPECT_EQ(received.get()->kind, RankStep::Kind::kEnd);
  EXPECT_FALSE(RankLeader(nullptr, nullptr).leads());
}

}  // namespace
}  // namespace inferflux::engine
