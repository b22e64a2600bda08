// Threads that load, call, cancel and unload without a pause: for a second, or INFERFLUX_CHURN_SECONDS. Its ctest entry
// runs under ThreadSanitizer.
#include <gtest/gtest.h>
#include <inferflux/model_pool.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "embedded/embedded_tiny.h"

namespace inferflux::embedded {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kThreads = 16;
constexpr std::array<const char*, 2> kNames = {"one", "two"};

struct Counts {
  std::atomic<int> answers = 0, cancelled = 0, unloaded = 0, interrupted = 0, unexpected = 0;
};

// An error that loads and unloads beside a call may cause.
bool IsExpected(const Error& error) {
  return error.code == ErrorCode::kBackendError || error.code == ErrorCode::kCancelled ||
         error.code == ErrorCode::kModelNotFound;
}

class Churn {
 public:
  Churn(const ModelPool& pool, uint64_t seed, Counts& counts) : pool_(pool), random_(seed), counts_(counts) {}

  void One() {
    const std::string name = kNames[Draw(kNames.size())];
    if (Draw(12) == 0) {
      if (pool_.Unload(name, std::chrono::milliseconds(Draw(20)))) ++counts_.unloaded;
      return;
    }
    const auto engine = pool_.LoadModel(name, {.context = 256, .backend = "cpu", .kv_budget = 8 << 20});
    if (!engine) return Take(engine.error());
    Draw(3) == 0 ? Cancel(*engine) : Ask(*engine);
  }

 private:
  size_t Draw(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }

  void Take(const Error& error) {
    ++(IsExpected(error) ? counts_.interrupted : counts_.unexpected);
    EXPECT_TRUE(IsExpected(error)) << NameOf(error.code) << ": " << error.message;
  }

  void Ask(const Engine& engine) {
    const auto reply = engine.Chat({{"user", "What is the capital of France?"}}, testing::Greedy(12));
    if (!reply) return Take(reply.error());
    EXPECT_EQ(reply->text, "The capital of France is Paris.");
    EXPECT_EQ(reply->usage.prompt, 15u);
    ++counts_.answers;
  }

  void Cancel(const Engine& engine) {
    std::stop_source stop;
    GenerateOptions options{.sampling = {.temperature = 2.0, .seed = Draw(1000)}, .cancel = stop.get_token()};
    options.ignore_eos = true;
    auto stream = engine.Stream("Once upon a time", options);
    if (!stream) return Take(stream.error());
    for (size_t i = Draw(3); i > 0; --i) {
      if (const auto next = stream->Next(); !next) return Take(next.error());
    }
    if (Draw(2) == 0) return;  // the stream's destructor cancels
    stop.request_stop();
    const auto next = stream->Next();
    if (next) return;  // it was there already
    Take(next.error());
    ++counts_.cancelled;
  }

  const ModelPool& pool_;
  std::mt19937_64 random_;
  Counts& counts_;
};

TEST(ChurnTest, ThreadsLoadCallCancelAndUnload) {
  const fs::path dir = fs::path(::testing::TempDir()) / "embedded_churn";
  fs::remove_all(dir);
  fs::create_directories(dir);
  for (const char* name : kNames) fs::copy_file(testing::TinyPath(), dir / (std::string(name) + ".gguf"));
  const char* wanted = std::getenv("INFERFLUX_CHURN_SECONDS");
  const auto until = Clock::now() + std::chrono::seconds(wanted ? std::max(1, std::atoi(wanted)) : 1);
  Counts counts;
  // A slow machine goes on until each of it has happened.
  const auto goes_on = [&, limit = until + std::chrono::minutes(2)] {
    const bool all = counts.answers > 0 && counts.unloaded > 0;
    return Clock::now() < (all ? until : limit);
  };
  {
    const ModelPool pool = ModelPool::Open({.models_dir = dir.string(), .threads = 2}).value();
    std::vector<std::jthread> threads;
    for (uint64_t seed = 0; seed < kThreads; ++seed) {
      threads.emplace_back([&, seed] {
        Churn churn(pool, seed, counts);
        while (goes_on()) churn.One();
      });
    }
  }
  fs::remove_all(dir);
  EXPECT_EQ(counts.unexpected, 0);
  EXPECT_GT(counts.answers, 0);
  EXPECT_GT(counts.unloaded, 0);
  std::printf("%d answers, %d cancelled, %d unloads, %d calls interrupted by one\n", counts.answers.load(),
              counts.cancelled.load(), counts.unloaded.load(), counts.interrupted.load());
}

}  // namespace
}  // namespace inferflux::embedded
