// Models that inferflux-rank's processes share with this one: the same tokens as of one process, refusals, and the
// death of a rank.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "base/thread_pool.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "serving/backends/built_in_engines.h"
#include "serving/backends/rank_job.h"

namespace inferflux::serving {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<engine::Engine>> MakeEngine(ThreadPool& pool, const BackendConfig& config,
                                                   std::shared_ptr<RankJob> job = nullptr,
                                                   const std::string& name = "models/tiny/inferflux-tiny.gguf") {
  for (const EngineEntry& entry : BuiltInEngines(pool)) {
    if (entry.target != Target::kCpu || entry.provider != Provider::kNative) continue;
    auto source = model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/" + name);
    if (!source) return Forward(source);
    BackendConfig with_kv = config;
    with_kv.kv_budget = 16 << 20;
    return entry.make({.source = *source, .context = 512, .config = with_kv, .stop = {}, .rank_job = std::move(job)});
  }
  return Fail(ErrorCode::kNotFound, "no native cpu engine");
}

std::vector<TokenId> Greedy(engine::Engine& engine, int count) {
  const auto sequence = engine.Open(std::vector<TokenId>{}, 1)->sequence;
  std::vector<TokenId> out;
  auto next = engine.Prefill(sequence, std::vector<TokenId>{1, 500, 600, 700});
  for (int i = 0; i < count && next; ++i) {
    out.push_back(next->token);
    next = engine.Prefill(sequence, std::span(&out.back(), 1));
  }
  EXPECT_TRUE(next) << next.error().message;
  EXPECT_TRUE(engine.Close(sequence));
  return out;
}

// The processes that this one has started.
std::vector<int> Children() {
  std::vector<int> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    std::FILE* stat = pid > 0 ? std::fopen((entry.path() / "stat").c_str(), "r") : nullptr;
    if (stat == nullptr) continue;
    int parent = 0;
    if (std::fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == ::getpid()) out.push_back(pid);
    std::fclose(stat);
  }
  return out;
}

TEST(RankJob, ProcessesGiveTheTokensOfOne) {
  ThreadPool pool(1);
  const auto alone = MakeEngine(pool, {});
  ASSERT_TRUE(alone) << alone.error().message;
  const auto right = Greedy(**alone, 40);
  for (const BackendConfig& config : {BackendConfig{.tensor_parallel = 2}, BackendConfig{.pipeline_parallel = 2},
                                      BackendConfig{.pipeline_parallel = 5}}) {
    auto shared = MakeEngine(pool, config);
    ASSERT_TRUE(shared) << shared.error().message;
    EXPECT_EQ(Children().size(), config.tensor_parallel.value_or(1) * config.pipeline_parallel.value_or(1) - 1u);
    EXPECT_EQ(Greedy(**shared, 40), right);
    EXPECT_EQ(Greedy(**shared, 40), right) << "from a cached prefix";
    shared->reset();
    EXPECT_THAT(Children(), testing::IsEmpty());
  }
}

TEST(RankJob, WhatCannotBeSharedStartsNoProcess) {
  ThreadPool pool(1);
  const auto shared = MakeEngine(pool, {.tensor_parallel = 4});
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message, HasSubstr("4 ranks cannot share 2 KV heads of 'llama' evenly"));
}

TEST(RankJob, ADeathIsToldAlsoWhileTheModelIsIdle) {
  std::mutex mutex;
  std::vector<std::string> lost;
  const auto job = std::make_shared<RankJob>();
  job->on_lost = [&](const Error& why) {
    const std::lock_guard lock(mutex);
    lost.push_back(why.message);
  };
  ThreadPool pool(1);
  auto shared = MakeEngine(pool, {.tensor_parallel = 2}, job);
  ASSERT_TRUE(shared) << shared.error().message;
  ASSERT_EQ(Children().size(), 1u);
  ::kill(Children().front(), SIGKILL);
  const auto killed = Clock::now();
  const auto told = [&] {
    const std::lock_guard lock(mutex);
    return !lost.empty();
  };
  while (!told() && Clock::now() - killed < std::chrono::seconds(5)) std::this_thread::yield();
  EXPECT_LT(Clock::now() - killed, std::chrono::seconds(1));
  ASSERT_TRUE(told());
  EXPECT_THAT(lost.front(), HasSubstr("rank 1 of 2"));
  EXPECT_THAT(lost.front(), HasSubstr("by signal 9"));
  const auto sequence = (*shared)->Open(std::vector<TokenId>{}, 1)->sequence;
  EXPECT_FALSE((*shared)->Prefill(sequence, std::vector<TokenId>{1, 2}));
  EXPECT_EQ(*(*shared)->Length(sequence), 0);
  shared->reset();
  EXPECT_THAT(Children(), testing::IsEmpty());
}

TEST(RankJob, ADeathOfWhichNobodyIsToldFailsTheNextStep) {
  ThreadPool pool(1);
  auto shared = MakeEngine(pool, {.tensor_parallel = 2}, std::make_shared<RankJob>());
  auto jobless = MakeEngine(pool, {.tensor_parallel = 2});
  ASSERT_TRUE(shared && jobless);
  for (const int rank : Children()) ::kill(rank, SIGKILL);
  for (auto* engine : {&shared, &jobless}) {
    const auto sequence = (**engine)->Open(std::vector<TokenId>{}, 1)->sequence;
    EXPECT_FALSE((**engine)->Prefill(sequence, std::vector<TokenId>{1, 2}));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than the watch of ranks takes to see it
  shared->reset();
  jobless->reset();
  EXPECT_THAT(Children(), testing::IsEmpty());
}

// In a process of its own, which it ends.
TEST(RankJobDeathTest, ARankWhoseJobFailedEndsWithTheGivenStatus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto segment = *collective::Segment::Create(2);
        const std::shared_ptr<collective::Collective> zero = *collective::SharedMemoryCollective::Join(segment, 0);
        const std::shared_ptr<collective::Collective> one = *collective::SharedMemoryCollective::Join(segment, 1);
        zero->Abort({ErrorCode::kInternal, "rank 0 gives up"});
        RunRank(one, 1, {}, 7);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(7), "rank 0 gives up");
}

TEST(RankJob, AJobOfAnotherSizeIsRefused) {
  ThreadPool pool(1);
  const auto job = std::make_shared<RankJob>();
  job->world = *collective::SharedMemoryCollective::Join(*collective::Segment::Create(3), 0);
  const auto shared = MakeEngine(pool, {.tensor_parallel = 2}, job);
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message,
              HasSubstr("this job was started with 3 ranks, and the model is configured for 2"));
}

}  // namespace
}  // namespace inferflux::serving
