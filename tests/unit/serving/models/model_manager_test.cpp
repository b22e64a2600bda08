#include "serving/models/model_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/thread_pool.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kModel = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

class ModelManagerTest : public ::testing::Test {
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
    return {.id = std::move(id), .path = kModel, .requested_backend = "native_cpu", .config = {.kv_budget = 16 << 20}};
  }

  std::string Exposition() const { return prometheus::TextSerializer().Serialize(metrics_.Collectable().Collect()); }

  ThreadPool pool_{1};
  std::atomic<int> made_ = 0;
  std::latch started_{1};
  std::latch go_{1};
  metrics::Registry metrics_;
  BackendFactory factory_{Engines(), {}};
  ModelRegistry registry_;
  ModelManager manager_{factory_, registry_, metrics_, {}};
};

TEST_F(ModelManagerTest, EqualLoadsAtOnceAreOneLoad) {
  std::vector<ModelManager::Loaded> loaded(3);
  std::vector<std::thread> callers;
  callers.emplace_back([&] { loaded[0] = manager_.Load(Request("m")); });
  started_.wait();
  const auto second = manager_.StartLoad(Request("m"), false, [](auto) { FAIL() << "nothing is to be run"; });
  const auto third = manager_.StartLoad(Request("m"), true, [](auto) { FAIL() << "nothing is to be run"; });
  EXPECT_EQ(manager_.Loading().size(), 1u);

  LoadRequest other = Request("m");
  other.context = 128;
  const auto refused = manager_.Load(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("other settings"));

  go_.count_down();
  callers[0].join();
  ASSERT_TRUE(loaded[0]) << loaded[0].error().message;
  ASSERT_TRUE(second.get() && third.get());
  EXPECT_EQ(*second.get(), *loaded[0]);
  EXPECT_EQ(*third.get(), *loaded[0]);
  EXPECT_EQ(made_, 1);
  EXPECT_TRUE(manager_.Loading().empty());
}

TEST_F(ModelManagerTest, AFailureIsTheSameForAllCallersAndListedOnlyWhereItIsRecorded) {
  go_.count_down();
  LoadRequest request = Request("m");
  request.path = "/none.gguf";
  const auto failed = manager_.Load(request);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(manager_.Failed().empty());
  manager_.RecordFailure(request, failed.error());
  ASSERT_EQ(manager_.Failed().size(), 1u);
  EXPECT_THAT(manager_.Failed()[0].error, HasSubstr("/none.gguf"));
  ASSERT_TRUE(manager_.Load(Request("m")));
  EXPECT_TRUE(manager_.Failed().empty());
  manager_.RecordFailure(Request("n"), failed.error());
  EXPECT_TRUE(manager_.Unload("n", {}));
  EXPECT_TRUE(manager_.Failed().empty());
}

TEST_F(ModelManagerTest, SeriesOfAModelLastAsLongAsAnyoneHoldsIt) {
  go_.count_down();
  auto model = manager_.Load(Request("m"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(Exposition(), HasSubstr("model=\"m\""));
  ASSERT_TRUE(manager_.Unload("m", {}));
  EXPECT_THAT(Exposition(), HasSubstr("model=\"m\"")) << "a request may still count";
  *model = nullptr;
  EXPECT_THAT(Exposition(), Not(HasSubstr("model=\"m\"")));
}

TEST_F(ModelManagerTest, AFailedLoadLeavesNoSeries) {
  go_.count_down();
  LoadRequest request = Request("m");
  request.config.device = 5;
  ASSERT_FALSE(manager_.Load(request));
  EXPECT_THAT(Exposition(), Not(HasSubstr("model=\"m\"")));
  EXPECT_THAT(Exposition(), HasSubstr("inferflux_model_load_events_total{event=\"failed\"} 1"));
}

TEST_F(ModelManagerTest, ASettingThatTheEngineCannotUseIsRefusedOrNoted) {
  go_.count_down();
  LoadRequest request = Request("m");
  request.config.gpu_layers = 2;
  const auto refused = manager_.Load(request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'native_cpu' cannot use the setting 'gpu_layers'"));

  request.requested_backend = "auto";
  request.shared_changes.mlx_requantise = true;
  const auto noted = manager_.Load(request);
  ASSERT_TRUE(noted) << noted.error().message;
  EXPECT_THAT((*noted)->info.notes, ::testing::Contains(HasSubstr("the setting gpu_layers has no effect")));
  EXPECT_THAT((*noted)->info.notes, ::testing::Contains(HasSubstr("the setting mlx_requantise has no effect")));
}

}  // namespace
}  // namespace inferflux::serving
