// What a pool says of its models: how long they stay, which could be loaded, and why one has no room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "serving/backends/built_in_engines.h"
#include "serving/pool/model_pool.h"
#include "serving/pool/pool_testing.h"

namespace inferflux::serving {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using State = UnloadedModel::State;

class PoolStates : public ::testing::Test {
 protected:
  ModelPool Pool(PoolOptions options = {}) {
    return ModelPool(factory_, metrics_, {.requested_backend = "native_cpu", .config = {.kv_budget = testing::kTinyKv}},
                     std::move(options));
  }
  static LoadRequest Tiny(const ModelPool& pool, std::string id) {
    LoadRequest out = pool.defaults();
    out.id = std::move(id);
    out.path = testing::kTinyModel;
    return out;
  }
  static std::string Text(const std::vector<UnloadedModel>& models) {
    std::string out;
    for (const UnloadedModel& model : models) {
      out += model.id + ":" + std::to_string(static_cast<int>(model.state)) + model.error +
             (model.withdrawn ? " withdrawn" : "") + " ";
    }
    return out;
  }
  std::string Metrics() const { return prometheus::TextSerializer().Serialize(metrics_.Collectable().Collect()); }

  ThreadPool workers_{1};
  metrics::Registry metrics_;
  BackendFactory factory_{BuiltInEngines(workers_), {}};
};

TEST_F(PoolStates, AStayIsShownAndChanged) {
  ModelPool pool = Pool({.keep_alive = 500s});
  EXPECT_FALSE(pool.Stay("m"));
  const auto unknown = pool.SetStay("m", true, {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message,
            "the model 'm' is not loaded; loaded: none; can be loaded: none (there is no models directory)");
  auto model = pool.Load(Tiny(pool, "m"));
  ASSERT_TRUE(model) << model.error().message;
  const auto stay = [&] { return *pool.Stay("m"); };
  EXPECT_FALSE(stay().pinned);
  EXPECT_EQ(stay().keep_alive, 500s);
  EXPECT_EQ(stay().bytes, pool.use().used);
  EXPECT_GE(stay().users, 1);
  EXPECT_TRUE(pool.SetStay("m", true, {}));
  EXPECT_TRUE(stay().pinned);
  EXPECT_EQ(stay().keep_alive, 500s);
  EXPECT_TRUE(pool.SetStay("m", {}, 60s));
  EXPECT_TRUE(stay().pinned);
  EXPECT_EQ(stay().keep_alive, 60s);
  const auto before = std::chrono::steady_clock::now();
  model = Fail(ErrorCode::kNotFound, "given back");
  for (int i = 0; i < 2000 && stay().users > 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(stay().users, 0);
  EXPECT_GE(stay().idle_since, before);
  EXPECT_LE(stay().idle_since, std::chrono::steady_clock::now());
  EXPECT_TRUE(pool.SetStay("m", false, 0s)) << "it leaves at once";
  for (int i = 0; i < 5000 && !pool.List().empty(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(pool.List().empty());
  const std::string unloaded = "inferflux_model_load_events_total{event=\"unloaded\"} 1";
  for (int i = 0; i < 5000 && Metrics().find(unloaded) == std::string::npos; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_model_evictions_total{reason=\"idle\"} 1"));
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_model_load_events_total{event=\"loaded\"} 1"));
  EXPECT_THAT(Metrics(), HasSubstr(unloaded));
}

TEST_F(PoolStates, EachModelThatIsNotLoadedHasItsState) {
  ModelPool pool = Pool();
  for (const char* id : {"a", "b", "c"}) pool.Offer(Tiny(pool, id));
  EXPECT_EQ(pool.PathOf("a"), testing::kTinyModel);
  EXPECT_FALSE(pool.PathOf("d"));
  EXPECT_EQ(Text(pool.Unloaded()), "a:0 b:0 c:0 ");
  pool.RecordFailure(Tiny(pool, "b"), {ErrorCode::kIo, "broken"});
  EXPECT_EQ(Text(pool.Unloaded()), "a:0 b:" + std::to_string(static_cast<int>(State::kFailed)) + "broken c:0 ");
  pool.RecordFailure(Tiny(pool, "b"), {ErrorCode::kIo, "again"});
  ASSERT_EQ(pool.Failed().size(), 1u);
  EXPECT_EQ(pool.Failed()[0].error, "again");
  EXPECT_EQ(pool.Failed()[0].id, "b");
  EXPECT_EQ(pool.Failed()[0].path, testing::kTinyModel);
  EXPECT_EQ(pool.Failed()[0].requested_backend, "native_cpu");
  EXPECT_EQ(pool.Select("b", {}).error().message, "the model 'b' failed to load: again");
  EXPECT_EQ(pool.Select("a", {}).error().message, "the model 'a' is not loaded");
  ASSERT_TRUE(pool.LoadModel("a"));
  EXPECT_EQ(Text(pool.Unloaded()), "b:" + std::to_string(static_cast<int>(State::kFailed)) + "again c:0 ");
  ASSERT_TRUE(pool.Unload("a", 1s));
  EXPECT_EQ(pool.Unloaded().at(0).id, "a");
  EXPECT_TRUE(pool.Unloaded().at(0).withdrawn);
  EXPECT_FALSE(pool.Unloaded().at(2).withdrawn);
  EXPECT_EQ(pool.Unload("a", 1s).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(pool.LoadModel("a"));
  ASSERT_TRUE(pool.Unload("a", 0ms));
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_model_first_use_loads_total 2"));
}

TEST_F(PoolStates, AMessageNamesAtMostTwentyModels) {
  ModelPool pool = Pool();
  std::string twenty;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "m" + std::to_string(100 + i);
    pool.Offer(Tiny(pool, id));
    twenty += (i > 0 ? ", " : "") + id;
  }
  const auto message = [&] { return pool.GetLoadedModel("x").error().message; };
  EXPECT_EQ(message(), "the model 'x' is not loaded; loaded: none; can be loaded: " + twenty);
  EXPECT_EQ(pool.Select("", {}).error().message, "no model is loaded; name one that can be loaded: " + twenty);
  pool.Offer(Tiny(pool, "m200"));
  EXPECT_EQ(message(), "the model 'x' is not loaded; loaded: none; can be loaded: " + twenty + " and 1 more");
}

TEST_F(PoolStates, AModelWithoutRoomIsToldWhoHasIt) {
  int64_t one = 0, weights = 0;
  {
    ModelPool pool = Pool();
    const auto model = pool.Load(Tiny(pool, "m"));
    ASSERT_TRUE(model);
    one = pool.use().used;
    weights = (*model)->info.memory.front().weight_bytes;
  }
  const auto mib = [](int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) / (1 << 20)) + " MiB"; };
  ModelPool small = Pool({.memory_budget = 1 << 20});
  const auto none = small.Load(Tiny(small, "m"));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message,
              HasSubstr("and 1 MiB of the pool's 1 MiB are free: no model holds any of it; unload one"));
  ModelPool pool = Pool({.memory_budget = one * 5 / 2});
  const auto a = pool.Load(Tiny(pool, "a"));
  ASSERT_TRUE(a);
  const auto b = pool.Load(Tiny(pool, "b"));
  ASSERT_TRUE(b);
  const auto refused = pool.Load(Tiny(pool, "c"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::StartsWith("the model 'c' needs "));
  EXPECT_THAT(
      refused.error().message,
      HasSubstr(" of weights, the rest for keys and values), and " + mib(pool.use().left()) + " of the pool's " +
                mib(one * 5 / 2) + " are free: a " + mib(one) + ", b " + mib(one) + " hold it; unload one"));
  EXPECT_GT(weights, 0);
  EXPECT_TRUE(pool.SetStay("a", true, {}));
  EXPECT_EQ(pool.use().holders.size(), 2u);
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_pool_budget_bytes "));
}

TEST_F(PoolStates, ARefusedRequestIsCountedAndAPolicyIsKept) {
  ModelPool pool = Pool();
  ASSERT_TRUE(pool.Load(Tiny(pool, "m"), true));
  constexpr Feature kEmbed[] = {Feature::kScores};
  EXPECT_EQ(pool.Select("m", kEmbed).error().why, NoSelection::Why::kMissingCapability);
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_capability_rejections_total{backend=\"cpu\",feature=\"scores\"} 1"));
  EXPECT_TRUE(pool.policy().allow_default_fallback);
  pool.SetPolicy({.allow_default_fallback = false});
  EXPECT_FALSE(pool.policy().allow_default_fallback);
  const auto selected = pool.Select("", {});
  ASSERT_TRUE(selected);
  EXPECT_EQ((*selected)->id, "m");
}

}  // namespace
}  // namespace inferflux::serving
