// Many threads load, call, cancel and unload at once. INFERFLUX_TEST_SECONDS makes it longer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <random>

#include "base/thread_pool.h"
#include "serving/backends/built_in_engines.h"
#include "serving/pool/model_pool.h"
#include "serving/pool/pool_testing.h"

namespace inferflux::serving {
namespace {

constexpr int kThreads = 16;
constexpr int kLeastTurns = 20;  // of each thread, on a machine however busy

TEST(ModelPoolThreads, LoadCallCancelAndUnloadAtOnce) {
  const char* given = std::getenv("INFERFLUX_TEST_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(given != nullptr ? std::atoi(given) : 2);
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  const testing::TinyDirectory directory(names);
  ThreadPool workers(1);
  metrics::Registry metrics;
  const BackendFactory factory(BuiltInEngines(workers), {});
  LoadRequest defaults{.requested_backend = "native_cpu", .config = {.kv_budget = testing::kTinyKv}};
  int64_t one = 0;
  {
    ModelPool alone(factory, metrics, defaults, {.directory = directory.Open()});
    ASSERT_TRUE(alone.LoadModel("a"));
    one = alone.use().used;
  }
  // Two of the four models fit; they leave as soon as they are idle for a second.
  ModelPool pool(factory, metrics, defaults,
                 {.memory_budget = one * 5 / 2, .directory = directory.Open(), .keep_alive = std::chrono::seconds(1)});

  std::mutex mutex;
  std::map<std::string, int> outcomes;
  std::vector<std::string> wrong;
  const auto note = [&](const std::string& outcome) {
    const std::lock_guard lock(mutex);
    ++outcomes[outcome];
  };
  const auto complain = [&](std::string message) {
    const std::lock_guard lock(mutex);
    wrong.push_back(std::move(message));
  };
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    for (int done = 0; done < kLeastTurns || std::chrono::steady_clock::now() < end; ++done) {
      const std::string& name = names[static_cast<size_t>(pick(4))];
      switch (pick(8)) {
        case 0:  // its users finish first
          note(pool.Unload(name, std::chrono::seconds(60)) ? "unloaded" : "not there");
          break;
        case 1:
          for (const UnloadedModel& model : pool.Unloaded()) {
            if (model.state == UnloadedModel::State::kFailed) complain(model.error);
          }
          break;
        case 2: {
          std::stop_source stop;
          stop.request_stop();
          const auto loaded = pool.LoadModel(name, stop.get_token());
          note(loaded ? "there at once" : "wait cancelled");
          break;
        }
        default: {
          const auto model = pick(4) == 0 ? pool.GetLoadedModel(name) : pool.LoadModel(name);
          if (!model) {
            const ErrorCode code = model.error().code;
            note(code == ErrorCode::kResourceExhausted ? "no room" : "not loaded");
            if (code != ErrorCode::kResourceExhausted && code != ErrorCode::kNotFound &&
                code != ErrorCode::kUnavailable) {
              complain(model.error().message);
            }
            break;
          }
          const bool cancels = pick(3) == 0;
          const auto finish = testing::Complete(**model, cancels ? -1 : 5);
          const auto expected = cancels ? scheduler::FinishReason::kCancelled : scheduler::FinishReason::kLength;
          if (finish.reason != expected) complain("a model left under its user: " + finish.error.message);
          note(cancels ? "cancelled" : "completed");
        }
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, 1234 + i);
  threads.clear();

  EXPECT_TRUE(wrong.empty()) << wrong.size() << " times, first: " << wrong.front();
  for (const char* each : {"completed", "cancelled", "unloaded", "wait cancelled"}) {
    EXPECT_GT(outcomes[each], 0) << each;
  }
  for (const auto& [outcome, times] : outcomes) std::printf("%s: %d\n", outcome.c_str(), times);
  while (!pool.Loading().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (const std::string& name : names) (void)pool.Unload(name, std::chrono::seconds(10));
  EXPECT_EQ(pool.use().used, 0) << "all memory is given back";
}

}  // namespace
}  // namespace inferflux::serving
