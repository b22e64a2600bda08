// What a pool says and does while a model is being loaded, and what it keeps of a load that failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/registry.h"
#include "serving/models/load_testing.h"
#include "serving/pool/model_pool.h"
#include "serving/pool/pool_testing.h"

namespace inferflux::serving {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::EntryOf;
using ::testing::HasSubstr;
using testing::kTinyFile;
using Why = NoSelection::Why;

class PoolLoading : public ::testing::Test {
 protected:
  PoolLoading() {
    defaults_.requested_backend = "cpu";
    defaults_.config.kv_budget = 4096;
    defaults_.start = starts_.starter();
    starts_.info.capabilities.generation = true;
  }
  ModelPool Pool(PoolOptions options = {}) { return {factory_, metrics_, defaults_, std::move(options)}; }
  LoadRequest Request(const std::string& id) const {
    LoadRequest out = defaults_;
    out.id = id;
    out.path = kTinyFile;
    return out;
  }

  testing::FakeStarts starts_;
  LoadRequest defaults_;
  metrics::Registry metrics_;
  BackendFactory factory_{{EntryOf(Target::kCpu)}, {}};
};

TEST_F(PoolLoading, ALoadIsShownWhileItGoesOn) {
  ModelPool pool = Pool();
  ASSERT_TRUE(pool.Load(Request("before"), true));
  bool seen = false;
  starts_.during = [&] {
    seen = true;
    const auto loading = pool.Loading();
    ASSERT_EQ(loading.size(), 1u);
    EXPECT_EQ(loading[0].id, "m");
    EXPECT_EQ(loading[0].path, kTinyFile);
    EXPECT_EQ(loading[0].requested_backend, "cpu");
    EXPECT_EQ(loading[0].progress.backend, "cpu");
    EXPECT_EQ(loading[0].progress.provider, "native");
    EXPECT_GE(loading[0].seconds, 0);
    EXPECT_LT(loading[0].seconds, 600);
    const auto selected = pool.Select("m", {});
    ASSERT_FALSE(selected);
    EXPECT_EQ(selected.error().why, Why::kNotLoaded);
    EXPECT_EQ(selected.error().message, "the model 'm' is being loaded");
    ASSERT_EQ(pool.Unloaded().size(), 1u);
    EXPECT_EQ(pool.Unloaded()[0].id, "m");
    EXPECT_EQ(pool.Unloaded()[0].path, kTinyFile);
    EXPECT_EQ(pool.Unloaded()[0].state, UnloadedModel::State::kLoading);
    EXPECT_NE(pool.StartLoadOf("m").wait_for(0s), std::future_status::ready) << "it waits for this load";
    EXPECT_EQ(pool.StartLoadOf("n").get().error().message, "there is no model 'n'; loaded: before; can be loaded: m");
    std::stop_source stop;
    stop.request_stop();
    const auto cancelled = pool.LoadModel("m", stop.get_token());
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(cancelled.error().message, "the wait for the model 'm' was cancelled; its load goes on");
    constexpr Feature kScore[] = {Feature::kScores};
    EXPECT_EQ(pool.Select("", kScore).error().why, Why::kMissingCapability);
    pool.SetPolicy({.require_ready_backend = false});
    EXPECT_EQ(pool.Select("", kScore).error().why, Why::kNotReady);
  };
  ASSERT_TRUE(pool.Load(Request("m")));
  EXPECT_TRUE(seen);
  EXPECT_EQ(starts_.starts.size(), 2u);
  EXPECT_EQ(pool.registry().default_id(), "before");
}

TEST_F(PoolLoading, AWaitThatNobodyCancelsEndsWithTheLoad) {
  ModelPool pool = Pool();
  pool.Offer(Request("m"));
  const std::stop_source stop;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pool.LoadModel("m", stop.get_token()));
}

TEST_F(PoolLoading, TheTimeOfALoadBeginsWithItsTurn) {
  using Clock = std::chrono::steady_clock;
  ModelPool pool = Pool();
  std::shared_future<ModelPool::Loaded> second;
  Clock::time_point first_ended;
  double shown = -1, most = 0;
  starts_.during = [&] {
    if (starts_.starts.size() == 1) {
      second = pool.StartLoad(Request("second"), false);
      std::this_thread::sleep_for(50ms);
      first_ended = Clock::now();
      return;
    }
    for (const auto& loading : pool.Loading()) shown = loading.seconds;
    most = std::chrono::duration<double>(Clock::now() - first_ended).count();
  };
  ASSERT_TRUE(pool.Load(Request("first")));
  ASSERT_TRUE(second.get());
  EXPECT_GE(shown, 0);
  EXPECT_LE(shown, most) << "it waited before";
}

TEST_F(PoolLoading, AnotherLoadOfTheSameModelMustBeEqual) {
  ModelPool pool = Pool();
  ASSERT_TRUE(pool.Load(Request("before"), true));
  std::shared_future<ModelPool::Loaded> same;
  starts_.during = [&] {
    same = pool.StartLoad(Request("m"), true);
    EXPECT_NE(same.wait_for(0s), std::future_status::ready);
    const std::vector<std::pair<const char*, std::function<void(LoadRequest&)>>> changes = {
        {"path", [](auto& request) { request.path = "/other"; }},
        {"backend", [](auto& request) { request.requested_backend = "auto"; }},
        {"context", [](auto& request) { request.context = 1; }},
        {"format", [](auto& request) { request.format = "gguf"; }},
        {"draft", [](auto& request) { request.draft = kTinyFile; }},
        {"config", [](auto& request) { request.config.repack = false; }}};
    for (const auto& [name, change] : changes) {
      LoadRequest other = Request("m");
      change(other);
      const auto refused = pool.StartLoad(std::move(other), false);
      ASSERT_EQ(refused.wait_for(0s), std::future_status::ready) << name;
      EXPECT_EQ(refused.get().error().code, ErrorCode::kInvalidArgument) << name;
      EXPECT_EQ(refused.get().error().message,
                "a model 'm' is being loaded already, with another path or other settings; wait for it, or choose "
                "another id");
    }
  };
  const auto loaded = pool.Load(Request("m"));
  starts_.during = {};
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*same.get(), *loaded);
  EXPECT_EQ(pool.registry().default_id(), "m") << "the second caller wanted that";
  const auto taken = pool.Load(Request("m"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "two models have the id 'm': give one of them another");
}

TEST_F(PoolLoading, OnlyAFirstUseThatMayNotPassIsKeptAsAFailure) {
  ModelPool pool = Pool();
  pool.Offer(Request("m"));
  const auto failures = [&](ErrorCode code) {
    starts_.faults["cpu/native"] = {code, "why"};
    EXPECT_FALSE(pool.LoadModel("m"));
    return pool.Failed().size();
  };
  EXPECT_EQ(failures(ErrorCode::kCancelled), 0u);
  EXPECT_EQ(failures(ErrorCode::kIo), 1u);
  EXPECT_EQ(pool.Failed()[0].id, "m");
  EXPECT_THAT(pool.Failed()[0].error, HasSubstr("cpu (native): why"));
  EXPECT_TRUE(pool.Unload("m", 0ms));
  EXPECT_FALSE(pool.Load(Request("n"))) << "which no first use began";
  EXPECT_TRUE(pool.Failed().empty());
}

TEST_F(PoolLoading, AFailureIsSaidAlsoWhereNothingCanLoadIt) {
  ModelPool pool = Pool();
  EXPECT_EQ(pool.Select("x", {}).error().why, Why::kNoModel);
  EXPECT_EQ(pool.Select("x", {}).error().message, "no model is loaded");
  pool.RecordFailure(Request("x"), {ErrorCode::kIo, "broken"});
  const auto failed = pool.Select("x", {});
  EXPECT_EQ(failed.error().why, Why::kFailed);
  EXPECT_EQ(failed.error().message, "the model 'x' failed to load: broken");
  ASSERT_TRUE(pool.Load(Request("m")));
  EXPECT_EQ(pool.Select("y", {}).error().why, Why::kUnknownModel);
  EXPECT_EQ(pool.Select("y", {}).error().message, "there is no model 'y'; this server has: m");
}

TEST_F(PoolLoading, WhatADirectoryHasIsSaid) {
  const testing::TinyDirectory none({});
  ModelPool empty = Pool({.directory = none.Open()});
  EXPECT_EQ(empty.Select("", {}).error().message,
            "no model is loaded; name one that can be loaded: none (the directory is " + none.Open().path() + ")");
  EXPECT_EQ(empty.LoadModel("m").error().message,
            "there is no model 'm'; loaded: none; can be loaded: none (the directory is " + none.Open().path() + ")");
  EXPECT_EQ(empty.StartLoadOf("..").get().error().code, ErrorCode::kInvalidArgument);
  const testing::TinyDirectory two({"a", "b"});
  ModelPool pool = Pool({.directory = two.Open()});
  ASSERT_TRUE(pool.LoadModel("a"));
  EXPECT_EQ(pool.PathOf("b"), (std::filesystem::canonical(two.path()) / "b.gguf").string());
  EXPECT_EQ((*pool.GetLoadedModel("a"))->exposure.requested_backend, "cpu") << "with the pool's defaults";
  pool.Offer(Request("b"));
  EXPECT_EQ(pool.PathOf("b"), kTinyFile) << "an offer precedes the directory";
  EXPECT_EQ(pool.Unloaded().at(0).path, kTinyFile);
}

TEST_F(PoolLoading, AModelStaysAsItsLoadSays) {
  ModelPool pool = Pool({.keep_alive = 700s});
  LoadRequest request = Request("own");
  request.pinned = true;
  request.keep_alive = 800s;
  ASSERT_TRUE(pool.Load(request));
  ASSERT_TRUE(pool.Load(Request("usual")));
  EXPECT_TRUE(pool.Stay("own")->pinned);
  EXPECT_EQ(pool.Stay("own")->keep_alive, 800s);
  EXPECT_FALSE(pool.Stay("usual")->pinned);
  EXPECT_EQ(pool.Stay("usual")->keep_alive, 700s);
  auto elsewhere = std::make_shared<ServedModel>();
  elsewhere->id = "elsewhere";
  elsewhere->scheduler = std::make_shared<testing::SilentService>();
  ASSERT_TRUE(pool.Add(elsewhere, true));
  EXPECT_TRUE(pool.Stay("elsewhere")->pinned);
  EXPECT_EQ(pool.Stay("elsewhere")->bytes, 0);
  EXPECT_EQ(pool.registry().default_id(), "elsewhere");
  EXPECT_FALSE(pool.Add(elsewhere)) << "the id is taken";
  EXPECT_TRUE(pool.Unload("elsewhere", 0ms));
}

TEST_F(PoolLoading, AModelThatCameBackIsNotWithdrawn) {
  starts_.info.memory = {{.device = "cpu", .weight_bytes = 100, .kv_bytes = 20}};
  ModelPool pool = Pool();
  pool.Offer(Request("m"));
  ASSERT_TRUE(pool.LoadModel("m"));
  ASSERT_TRUE(pool.Unload("m", 10s));
  EXPECT_TRUE(pool.Unloaded().at(0).withdrawn);
  ASSERT_TRUE(pool.LoadModel("m"));
  ASSERT_TRUE(pool.SetStay("m", {}, 0s));
  for (int i = 0; i < 5000 && !pool.List().empty(); ++i) std::this_thread::sleep_for(1ms);
  ASSERT_EQ(pool.Unloaded().size(), 1u);
  EXPECT_FALSE(pool.Unloaded()[0].withdrawn) << "it left by itself";
  const auto gauge = [&] {
    const std::string text = prometheus::TextSerializer().Serialize(metrics_.Collectable().Collect());
    return text.find("\ninferflux_pool_used_bytes 0\n") != std::string::npos;
  };
  for (int i = 0; i < 5000 && !gauge(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(gauge()) << "its memory is free";
}

TEST_F(PoolLoading, AnUnloadWaitsForUsersNoLongerThanItsGrace) {
  ModelPool pool = Pool();
  const auto model = pool.Load(Request("m"));
  ASSERT_TRUE(model);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(pool.Unload("m", 200ms));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 10s);
  EXPECT_EQ(pool.use().used, 0);
  EXPECT_THAT(pool.List(), ElementsAre());
}

}  // namespace
}  // namespace inferflux::serving
