// The parts of a pool by themselves: its metrics, the thread that loads, and the count of a model's users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "metrics/registry.h"
#include "scheduler/wakeup.h"
#include "serving/pool/loader_thread.h"
#include "serving/pool/model_use.h"
#include "serving/pool/pool_metrics.h"

namespace inferflux::serving {
namespace {

using namespace std::chrono_literals;
using ::testing::UnorderedElementsAre;

std::shared_ptr<const ServedModel> ModelOn(const std::string& backend) {
  auto out = std::make_shared<ServedModel>();
  out->id = "m";
  out->exposure.exposed_backend = backend;
  out->exposure.normalised_request = "auto";
  out->exposure.provider = "native";
  return out;
}

struct PoolMetricsTest : ::testing::Test {
  // The samples without the common part of their names.
  std::vector<std::string> Samples() const {
    std::istringstream text(prometheus::TextSerializer().Serialize(registry.Collectable().Collect()));
    std::vector<std::string> out;
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with('#')) out.push_back(line.substr(std::string_view("inferflux_").size()));
    }
    return out;
  }

  metrics::Registry registry;
  PoolMetrics metrics{registry};
};

TEST_F(PoolMetricsTest, ALoadSaysWhatWasAskedForAndWhatRuns) {
  auto model = std::make_shared<ServedModel>(*ModelOn("cpu"));
  metrics.CountLoaded(*model, 2.5);
  model->exposure.fallback = true;
  metrics.CountLoaded(*model, 3.5);
  const std::string end = R"(",provider="native",requested_backend="auto"} 1)";
  EXPECT_THAT(Samples(), UnorderedElementsAre(R"(backend_exposures_total{exposed_backend="cpu",fallback="true)" + end,
                                              R"(backend_exposures_total{exposed_backend="cpu",fallback="false)" + end,
                                              R"(model_load_events_total{event="loaded"} 2)",
                                              R"(model_load_seconds{backend="cpu",model="m"} 3.5)",
                                              R"(model_ready{model="m"} 1)"));
}

TEST_F(PoolMetricsTest, AnEvictionIsAnUnloadToo) {
  metrics.CountEviction("memory");
  metrics.CountFirstUse();
  metrics.SetUse({.budget = 100, .used = 60, .holders = {}});
  EXPECT_THAT(Samples(),
              UnorderedElementsAre(R"(model_evictions_total{reason="memory"} 1)",
                                   R"(model_load_events_total{event="unloaded"} 1)", "model_first_use_loads_total 1",
                                   "pool_budget_bytes 100", "pool_used_bytes 60"));
}

TEST_F(PoolMetricsTest, OnlySwitchesAndRefusalsOfRequestsAreCounted) {
  metrics.CountSelection(Selection{ModelOn("cpu"), nullptr, std::nullopt});
  metrics.CountSelection(tl::make_unexpected(NoSelection{NoSelection::Why::kNoModel, "none", nullptr, {}}));
  EXPECT_THAT(Samples(), UnorderedElementsAre());
  metrics.CountSelection(Selection{ModelOn("cpu"), ModelOn("cuda"), Feature::kEmbeddings});
  metrics.CountSelection(tl::make_unexpected(
      NoSelection{NoSelection::Why::kMissingCapability, "lacks", ModelOn("vulkan"), Feature::kScores}));
  EXPECT_THAT(Samples(),
              UnorderedElementsAre(
                  R"(capability_rejections_total{backend="vulkan",feature="scores"} 1)",
                  R"(capability_route_fallbacks_total{feature="embeddings",from_backend="cuda",to_backend="cpu"} 1)"));
}

TEST(LoaderThreadTest, TasksRunInTheirOrderAndTheWaitingOnesBeforeTheEnd) {
  std::vector<int> ran;
  std::vector<std::thread::id> threads;
  {
    LoaderThread loader;
    for (int i = 0; i < 20; ++i) {
      loader.Run([&, i] {
        if (i == 0) std::this_thread::sleep_for(50ms);
        ran.push_back(i);
        threads.push_back(std::this_thread::get_id());
      });
    }
  }
  ASSERT_EQ(ran.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ran[static_cast<size_t>(i)], i);
  for (const auto id : threads) EXPECT_EQ(id, threads.front());
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST(LoaderThreadTest, ATaskIsGoneWhenTheNextRuns) {
  auto held = std::make_shared<int>(1);
  std::atomic<long> owners = -1;
  {
    LoaderThread loader;
    loader.Run([held] {});
    loader.Run([&owners, weak = std::weak_ptr<int>(held)] { owners = weak.use_count(); });
  }
  EXPECT_EQ(owners, 1) << "this test's own";
}

TEST(ModelUseTest, CopiesTogetherAreOneUser) {
  const auto before = ModelUse::Clock::now();
  const auto use = std::make_shared<ModelUse>(nullptr);
  auto model = std::make_shared<const ServedModel>();
  const ServedModel* plain = model.get();
  const auto loaded = use->idle_since();
  EXPECT_GE(loaded, before);
  EXPECT_GE(use->last_lent(), before);
  std::this_thread::sleep_for(2ms);
  auto first = ModelUse::Lend(use, model);
  EXPECT_EQ(first.get(), plain);
  EXPECT_EQ(use->users(), 1);
  const auto lent = use->last_lent();
  EXPECT_GT(lent, loaded);
  auto copy = first;
  EXPECT_EQ(use->users(), 1);
  std::this_thread::sleep_for(2ms);
  auto second = ModelUse::Lend(use, std::move(model));
  EXPECT_EQ(use->users(), 2);
  EXPECT_GT(use->last_lent(), lent);
  EXPECT_FALSE(use->WaitForNone(ModelUse::Clock::now()));
  first.reset();
  EXPECT_EQ(use->users(), 2);
  copy.reset();
  EXPECT_EQ(use->users(), 1);
  EXPECT_EQ(use->idle_since(), loaded) << "it has a user still";
  second.reset();
  EXPECT_EQ(use->users(), 0);
  EXPECT_GT(use->idle_since(), lent);
  EXPECT_TRUE(use->WaitForNone(ModelUse::Clock::now()));
}

TEST(ModelUseTest, WhoWaitsIsWokenByTheLastUser) {
  const auto idle = std::make_shared<scheduler::Wakeup>();
  const auto use = std::make_shared<ModelUse>(idle);
  auto model = std::make_shared<const ServedModel>();
  const std::weak_ptr<const ServedModel> weak = model;
  auto lent = ModelUse::Lend(use, std::move(model));
  std::atomic<bool> gone = false;
  std::thread waits([&] {
    EXPECT_TRUE(use->WaitForNone(ModelUse::Clock::now() + 60s));
    gone = weak.expired();
  });
  std::this_thread::sleep_for(20ms);
  const auto began = ModelUse::Clock::now();
  lent.reset();
  waits.join();
  idle->Wait(began + 30s);
  EXPECT_LT(ModelUse::Clock::now() - began, 20s);
  EXPECT_TRUE(gone) << "the model leaves before its count falls";
}

}  // namespace
}  // namespace inferflux::serving
