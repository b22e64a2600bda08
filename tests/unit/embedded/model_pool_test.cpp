#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <inferflux/model_pool.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "embedded/embedded_tiny.h"

namespace inferflux::embedded {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A directory with two names for the bundled model, and a file that is none.
class ModelPoolTest : public ::testing::Test {
 protected:
  ModelPoolTest() {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    fs::copy_file(testing::TinyPath(), dir_ / "one.gguf");
    fs::copy_file(testing::TinyPath(), dir_ / "two.gguf");
  }
  ~ModelPoolTest() override { fs::remove_all(dir_); }

  ModelPool Open() const { return ModelPool::Open({.models_dir = dir_.string(), .threads = 2}).value(); }
  static LoadOptions Small() { return {.backend = "cpu", .kv_budget = 16 << 20}; }

  const fs::path dir_ = fs::path(::testing::TempDir()) / "embedded_pool";
};

TEST_F(ModelPoolTest, FindsModelsByName) {
  const ModelPool pool = Open();
  const auto names = [&](bool loaded) {
    std::vector<std::string> out;
    for (const PoolModel& model : pool.List()) {
      if (model.loaded == loaded) out.push_back(model.name);
    }
    return out;
  };
  EXPECT_THAT(names(false), ElementsAre("one", "two"));
  const auto one = pool.LoadModel("one", Small());
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_THAT(names(true), ElementsAre("one"));
  EXPECT_THAT(names(false), ElementsAre("two"));
  EXPECT_EQ(one->Chat({{"user", "What is the capital of France?"}}, testing::Greedy())->text,
            "The capital of France is Paris.");
}

TEST_F(ModelPoolTest, AModelThatIsMissingIsNamedWithWhatIsThere) {
  const ModelPool pool = Open();
  const auto missing = pool.LoadModel("three");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kModelNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("'three'"));
  EXPECT_THAT(missing.error().message, HasSubstr("one, two"));
  EXPECT_EQ(pool.GetLoadedModel("one").error().code, ErrorCode::kModelNotFound);
  EXPECT_EQ(pool.Unload("one").error().code, ErrorCode::kModelNotFound);
  EXPECT_EQ(pool.LoadModel("..").error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(ModelPool::Open({.models_dir = "/nowhere"}).error().code, ErrorCode::kModelNotFound);
  EXPECT_EQ(ModelPool::Open({.memory_budget = 0}).error().field, "memory_budget");
}

TEST_F(ModelPoolTest, AllWhoAskShareOneModel) {
  const ModelPool pool = Open();
  std::vector<std::optional<Engine>> engines(8);
  {
    std::vector<std::jthread> threads;
    for (auto& engine : engines) {
      threads.emplace_back([&] { engine.emplace(pool.LoadModel("one", Small()).value()); });
    }
  }
  for (const auto& engine : engines) EXPECT_EQ(engine->info().path, engines[0]->info().path);
  // A prompt that one of them computed is cached for the others.
  const std::string prompt(1000, 'y');
  ASSERT_TRUE(engines[0]->Generate(prompt, testing::Greedy(1)));
  EXPECT_GT(engines[7]->Generate(prompt + "z", testing::Greedy(1))->usage.cached, 0u);
}

TEST_F(ModelPoolTest, ALoadThatContradictsTheLoadedOneIsRefused) {
  const ModelPool pool = Open();
  LoadOptions options = Small();
  options.context = 256;
  const auto engine = pool.LoadModel("one", options);
  ASSERT_TRUE(engine);
  EXPECT_TRUE(pool.LoadModel("one")) << "no option is set";
  EXPECT_TRUE(pool.LoadModel("one", options));
  EXPECT_EQ(pool.GetLoadedModel("one")->load_options().context, 256);
  options.context = 512;
  const auto refused = pool.LoadModel("one", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(refused.error().field, "context");
  EXPECT_EQ(pool.LoadModel("one", {.threads = 1}).error().field, "threads");
  EXPECT_EQ(pool.LoadModel("two", {.threads = 1}).error().field, "threads");
}

TEST_F(ModelPoolTest, UnloadEndsCallsAfterItsGraceAndFreesTheName) {
  const ModelPool pool = Open();
  auto engine = pool.LoadModel("one", Small());
  ASSERT_TRUE(engine);
  auto stream = engine->Stream("Once", {.sampling = {.temperature = 2.0, .seed = 3}, .ignore_eos = true});
  ASSERT_TRUE(stream && stream->Next());
  ASSERT_TRUE(pool.Unload("one"));
  while (true) {
    const auto next = stream->Next();
    if (next && *next) continue;  // what came before
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::kBackendError);
    break;
  }
  EXPECT_FALSE(pool.GetLoadedModel("one"));
  LoadOptions other = Small();
  other.context = 128;
  EXPECT_EQ(pool.LoadModel("one", other)->info().context, 128);
}

TEST_F(ModelPoolTest, ThreadsAreFromOneTo1024) {
  for (const int64_t wrong : {-1, 0, 1025}) {
    const auto refused = ModelPool::Open({.threads = wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().field, "threads");
    EXPECT_EQ(refused.error().message, "threads is " + std::to_string(wrong) + "; it must be from 1 to 1024");
  }
  EXPECT_TRUE(ModelPool::Open({.threads = 1}));
  EXPECT_TRUE(ModelPool::Open({.threads = 1024}));
}

TEST_F(ModelPoolTest, AMemoryBudgetIsAtLeastOneByte) {
  EXPECT_EQ(ModelPool::Open({.threads = 1, .memory_budget = 0}).error().field, "memory_budget");
  EXPECT_TRUE(ModelPool::Open({.threads = 1, .memory_budget = 1}));
}

TEST_F(ModelPoolTest, APathLoadsToo) {
  const ModelPool pool = ModelPool::Open({.threads = 2}).value();
  const auto engine = pool.LoadModel(testing::TinyPath(), Small());
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(pool.GetLoadedModel("inferflux-tiny")->info().path, testing::TinyPath());
  EXPECT_TRUE(pool.LoadModel(testing::TinyPath()));
}

TEST_F(ModelPoolTest, ACancelledWaitLeavesTheLoadToOthers) {
  const ModelPool pool = Open();
  std::stop_source stop;
  stop.request_stop();
  LoadOptions options = Small();
  options.cancel = stop.get_token();
  const auto cancelled = pool.LoadModel("one", options);
  EXPECT_TRUE(cancelled || cancelled.error().code == ErrorCode::kCancelled);
  EXPECT_TRUE(pool.LoadModel("one", Small()));
}

TEST_F(ModelPoolTest, AWaitBehindOtherLoadsEndsWithItsOwn) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "last"};
  for (const std::string& name : names) fs::copy_file(testing::TinyPath(), dir_ / (name + ".gguf"));
  const ModelPool pool = Open();
  std::vector<std::jthread> others;
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    others.emplace_back([&, i] { EXPECT_TRUE(pool.LoadModel(names[i], Small())); });
  }
  const std::stop_source stop;  // never used
  LoadOptions options = Small();
  options.cancel = stop.get_token();
  const auto last = pool.LoadModel("last", options);
  EXPECT_TRUE(last) << last.error().message;
}

TEST_F(ModelPoolTest, ABudgetWithoutRoomIsAnErrorThatSaysWhatIsNeeded) {
  const ModelPool pool = ModelPool::Open({.models_dir = dir_.string(), .threads = 2, .memory_budget = 1 << 20}).value();
  const auto refused = pool.LoadModel("one", Small());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBackendError) << refused.error().message;
}

}  // namespace
}  // namespace inferflux::embedded
