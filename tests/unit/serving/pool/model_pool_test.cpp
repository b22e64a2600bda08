#include "serving/pool/model_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/thread_pool.h"
#include "serving/backends/built_in_engines.h"
#include "serving/pool/pool_testing.h"

namespace inferflux::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ModelPoolTest : public ::testing::Test {
 protected:
  // The built-in engines, counted, and blocked until `go`.
  std::vector<EngineEntry> Engines() {
    auto out = BuiltInEngines(pool_);
    for (EngineEntry& entry : out) {
      if (!entry.make) continue;
      entry.make = [this, make = entry.make](const EngineRequest& request) {
        ++made_;
        started_.count_down();
        go_.wait();
        return make(request);
      };
    }
    return out;
  }

  static LoadRequest Request(std::string id) {
    return {.id = std::move(id),
            .path = testing::kTinyModel,
            .requested_backend = "native_cpu",
            .config = {.kv_budget = 16 << 20}};
  }

  std::string Exposition() const { return prometheus::TextSerializer().Serialize(metrics_.Collectable().Collect()); }

  ThreadPool pool_{1};
  std::atomic<int> made_ = 0;
  std::latch started_{1};
  std::latch go_{1};
  metrics::Registry metrics_;
  BackendFactory factory_{Engines(), {}};
  ModelPool models_{factory_, metrics_, {}};
};

TEST_F(ModelPoolTest, EqualLoadsAtOnceAreOneLoad) {
  std::vector<ModelPool::Loaded> loaded(3);
  std::vector<std::thread> callers;
  callers.emplace_back([&] { loaded[0] = models_.Load(Request("m")); });
  started_.wait();
  const auto second = models_.StartLoad(Request("m"), false);
  const auto third = models_.StartLoad(Request("m"), true);
  EXPECT_EQ(models_.Loading().size(), 1u);

  LoadRequest other = Request("m");
  other.context = 128;
  const auto refused = models_.Load(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("other settings"));

  go_.count_down();
  callers[0].join();
  ASSERT_TRUE(loaded[0]) << loaded[0].error().message;
  ASSERT_TRUE(second.get() && third.get());
  EXPECT_EQ(*second.get(), *loaded[0]);
  EXPECT_EQ(*third.get(), *loaded[0]);
  EXPECT_TRUE(models_.Loading().empty());

  EXPECT_FALSE(models_.Load(Request("m"))) << "the id is taken";
  const auto found = models_.FindOrStartLoad(Request("m")).get();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, *loaded[0]);
  EXPECT_EQ(made_, 1);
}

TEST_F(ModelPoolTest, AFailureIsTheSameForAllCallersAndListedOnlyWhereItIsRecorded) {
  go_.count_down();
  LoadRequest request = Request("m");
  request.path = "/none.gguf";
  const auto failed = models_.Load(request);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(models_.Failed().empty());
  models_.RecordFailure(request, failed.error());
  ASSERT_EQ(models_.Failed().size(), 1u);
  EXPECT_THAT(models_.Failed()[0].error, HasSubstr("/none.gguf"));
  ASSERT_TRUE(models_.Load(Request("m")));
  EXPECT_TRUE(models_.Failed().empty());
  models_.RecordFailure(Request("n"), failed.error());
  EXPECT_TRUE(models_.Unload("n", {}));
  EXPECT_TRUE(models_.Failed().empty());
}

TEST_F(ModelPoolTest, SeriesOfAModelLastAsLongAsAnyoneHoldsIt) {
  go_.count_down();
  auto model = models_.Load(Request("m"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(Exposition(), HasSubstr("model=\"m\""));
  ASSERT_TRUE(models_.Unload("m", {}));
  EXPECT_THAT(Exposition(), HasSubstr("model=\"m\"")) << "a request may still count";
  *model = nullptr;
  EXPECT_THAT(Exposition(), Not(HasSubstr("model=\"m\"")));
}

TEST_F(ModelPoolTest, AFailedLoadLeavesNoSeries) {
  go_.count_down();
  LoadRequest request = Request("m");
  request.config.device = "5";
  ASSERT_FALSE(models_.Load(request));
  EXPECT_THAT(Exposition(), Not(HasSubstr("model=\"m\"")));
  EXPECT_THAT(Exposition(), HasSubstr("inferflux_model_load_events_total{event=\"failed\"} 1"));
}

TEST_F(ModelPoolTest, ASettingThatTheEngineCannotUseIsRefusedOrNoted) {
  go_.count_down();
  LoadRequest request = Request("m");
  request.config.gpu_layers = 2;
  const auto refused = models_.Load(request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'native_cpu' cannot use the setting 'gpu_layers'"));

  request.requested_backend = "auto";
  request.shared_changes.mlx_requantise = true;
  const auto noted = models_.Load(request);
  ASSERT_TRUE(noted) << noted.error().message;
  EXPECT_THAT((*noted)->info.notes, ::testing::Contains(HasSubstr("the setting gpu_layers has no effect")));
  EXPECT_THAT((*noted)->info.notes, ::testing::Contains(HasSubstr("the setting mlx_requantise has no effect")));
}

// A pool whose directory has three models.
class NamedModels : public ::testing::Test {
 protected:
  NamedModels() : directory_({"a", "b", "c"}) {}

  ModelPool Pool(PoolOptions options = {}) {
    options.directory = directory_.Open();
    LoadRequest defaults{.requested_backend = "native_cpu", .config = {.kv_budget = testing::kTinyKv}};
    return ModelPool(factory_, metrics_, std::move(defaults), std::move(options));
  }
  int64_t BytesOfOne() {
    ModelPool pool = Pool();
    EXPECT_TRUE(pool.LoadModel("a"));
    return pool.use().used;
  }
  static std::vector<std::string> Loaded(const ModelPool& pool) {
    std::vector<std::string> out;
    for (const auto& model : pool.List()) out.push_back(model->id);
    return out;
  }

  testing::TinyDirectory directory_;
  ThreadPool workers_{1};
  metrics::Registry metrics_;
  BackendFactory factory_{BuiltInEngines(workers_), {}};
};

TEST_F(NamedModels, AreLoadedOnceAndThenFound) {
  ModelPool pool = Pool();
  const auto absent = pool.GetLoadedModel("a");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(absent.error().message, "the model 'a' is not loaded; loaded: none; can be loaded: a, b, c");
  const auto first = pool.LoadModel("a"), second = pool.LoadModel("a"), found = pool.GetLoadedModel("a");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(*first, *found);
  EXPECT_EQ(testing::Complete(**first, 3).reason, scheduler::FinishReason::kLength);
}

TEST_F(NamedModels, ANameThatIsNotThereIsAnErrorThatSaysWhatIs) {
  ModelPool pool = Pool();
  ASSERT_TRUE(pool.LoadModel("b"));
  const auto missing = pool.LoadModel("d");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "there is no model 'd'; loaded: b; can be loaded: a, c");
  EXPECT_EQ(pool.GetLoadedModel("d").error().code, ErrorCode::kNotFound);
  const auto selected = pool.Select("d", {});
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().why, NoSelection::Why::kUnknownModel);
  EXPECT_THAT(selected.error().message, HasSubstr("a, c"));
}

TEST_F(NamedModels, AProgramMayPassAPath) {
  ModelPool pool = Pool();
  const std::string path = (directory_.path() / "c.gguf").string();
  const auto model = pool.LoadModel(path);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->id, "c");
  EXPECT_EQ(*pool.LoadModel(path), *model);
  EXPECT_FALSE(pool.LoadModel(testing::kTinyModel + ".none"));
  EXPECT_FALSE(pool.StartLoadOf(path).get()) << "names from outside are never paths";
}

TEST_F(NamedModels, OnlyAnExplicitIdAsksForALoad) {
  ModelPool pool = Pool();
  EXPECT_EQ(pool.Select("a", {}).error().why, NoSelection::Why::kNotLoaded);
  EXPECT_EQ(pool.Select("", {}).error().why, NoSelection::Why::kNoModel);
  EXPECT_THAT(pool.Select("default", {}).error().message, HasSubstr("a, b, c"));
  EXPECT_TRUE(pool.List().empty());
}

TEST_F(NamedModels, AModelThatIsLentStaysLoadedAndAnUnloadWaitsForIt) {
  ModelPool pool = Pool();
  auto model = pool.LoadModel("a");
  ASSERT_TRUE(model);
  std::atomic<bool> unloaded = false;
  std::thread unload([&] {
    EXPECT_TRUE(pool.Unload("a", std::chrono::seconds(60)));
    unloaded = true;
  });
  while (pool.GetLoadedModel("a")) std::this_thread::yield();
  EXPECT_EQ(testing::Complete(**model, 20).reason, scheduler::FinishReason::kLength) << "it still serves its user";
  EXPECT_FALSE(unloaded);
  model = Fail(ErrorCode::kNotFound, "given back");
  unload.join();
  EXPECT_EQ(pool.use().used, 0);
}

TEST_F(NamedModels, TheLeastRecentlyUsedMakesRoomButNeverOneInUseOrPinned) {
  const int64_t one = BytesOfOne();
  ModelPool pool = Pool({.memory_budget = one * 5 / 2});
  ASSERT_TRUE(pool.LoadModel("a"));
  ASSERT_TRUE(pool.LoadModel("b"));
  ASSERT_TRUE(pool.LoadModel("a"));
  ASSERT_TRUE(pool.LoadModel("c"));
  EXPECT_THAT(Loaded(pool), ::testing::ElementsAre("a", "c"));

  const auto used = pool.GetLoadedModel("a");
  ASSERT_TRUE(pool.LoadModel("b")) << "c leaves, though it was used later";
  EXPECT_THAT(Loaded(pool), ::testing::ElementsAre("a", "b"));

  const auto also = pool.GetLoadedModel("b");
  const auto refused = pool.LoadModel("c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, ::testing::AllOf(HasSubstr("'c' needs"), HasSubstr("a "), HasSubstr("b "),
                                                        HasSubstr("runtime.memory_budget")));
  EXPECT_TRUE(pool.Failed().empty()) << "it may fit later";
}

TEST_F(NamedModels, NothingLeavesForAModelThatCannotFitAnyway) {
  const int64_t one = BytesOfOne();
  ModelPool pool = Pool({.memory_budget = one * 5 / 2});
  ASSERT_TRUE(pool.LoadModel("a"));
  LoadRequest large = pool.defaults();
  large.id = "large";
  large.path = testing::kTinyModel;
  large.config.kv_budget = one * 3;
  EXPECT_EQ(pool.Load(large).error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Loaded(pool), ::testing::ElementsAre("a"));
}

TEST_F(NamedModels, PinnedModelsKeepTheirMemory) {
  const int64_t one = BytesOfOne();
  ModelPool pool = Pool({.memory_budget = one * 3 / 2, .keep_alive = std::chrono::seconds(0)});
  LoadRequest pinned = pool.defaults();
  pinned.id = "pinned";
  pinned.path = testing::kTinyModel;
  pinned.pinned = true;
  ASSERT_TRUE(pool.Load(pinned));
  EXPECT_EQ(pool.LoadModel("a").error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(Loaded(pool), ::testing::ElementsAre("pinned"));
}

TEST_F(NamedModels, AKeepAliveBeginsWhenTheLastUserLeaves) {
  ModelPool pool = Pool({.keep_alive = std::chrono::seconds(0)});
  {
    const auto model = pool.LoadModel("a");
    ASSERT_TRUE(model);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(pool.List().size(), 1u);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!pool.List().empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(pool.List().empty());
  EXPECT_EQ(pool.Unloaded().size(), 3u);
}

TEST_F(NamedModels, AFailureIsKeptAndNamed) {
  std::filesystem::resize_file(directory_.path() / "b.gguf", 4000);
  ModelPool pool = Pool();
  EXPECT_FALSE(pool.LoadModel("b"));
  const auto selected = pool.Select("b", {});
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().why, NoSelection::Why::kFailed);
  EXPECT_THAT(selected.error().message, HasSubstr("b.gguf"));
  const auto all = pool.Unloaded();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].state, UnloadedModel::State::kFailed);
}

TEST_F(NamedModels, ACallerThatStopsWaitingDoesNotEndTheLoad) {
  ModelPool pool = Pool();
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = pool.LoadModel("a", stop.get_token());
  if (!cancelled) {
    EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  }
  EXPECT_TRUE(pool.LoadModel("a"));
}

TEST_F(NamedModels, WeightsThatStayInTheirFileDoNotCount) {
  ModelPool pool = Pool();
  LoadRequest request = pool.defaults();
  request.id = "m";
  request.path = testing::kTinyModel;
  request.config.repack = false;
  const auto model = pool.Load(request);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(pool.use().used, (*model)->info.memory.front().kv_bytes);
}

TEST_F(NamedModels, KvTakesHalfOfWhatTheBudgetHasLeft) {
  ModelPool pool = Pool({.memory_budget = int64_t{400} << 20});
  LoadRequest request = pool.defaults();
  request.id = "m";
  request.path = testing::kTinyModel;
  request.config.kv_budget = {};
  const auto model = pool.Load(request);
  ASSERT_TRUE(model) << model.error().message;
  const int64_t kv = (*model)->info.memory.front().kv_bytes;
  EXPECT_GT(kv, 0);
  EXPECT_LE(kv, int64_t{200} << 20);
  EXPECT_EQ(pool.use().used, (*model)->info.memory.front().weight_bytes + kv) << "what it holds, not what it asked for";
}

}  // namespace
}  // namespace inferflux::serving
