// Loads that fail on the scheduler's thread: a step that cannot run, and a file that is lost meanwhile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/scheduler_thread.h"

namespace inferflux::scheduler {
namespace {

TEST(SchedulerLoad, AModelThatCannotRunAStepSaysSo) {
  SchedulerThread loop(
      [](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
        auto engine = std::make_unique<FakeEngine>(FakeEngineOptions{}, Babble);
        engine->fault = [](const engine::UnifiedBatch&) { return Fail(ErrorCode::kInternal, "the device is gone"); };
        return engine;
      },
      FakeTokenizer(), {});
  const Status ready = loop.ready().get();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kInternal);
  EXPECT_EQ(ready.error().message, "warming up: the device is gone");
}

TEST(SchedulerLoad, AFileThatIsTruncatedDuringTheLoadIsNamed) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(::testing::TempDir()) / ("truncated-" + std::to_string(::getpid()));
  std::ofstream(path) << std::string(100'000, 'x');
  SchedulerOptions options;
  options.model_files = {path.string()};
  SchedulerThread loop(
      [&](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
        const auto file = *MappedFile::Open(path.string());
        fs::resize_file(path, 4096);
        volatile std::byte last = file->bytes().back();
        (void)last;
        return std::make_unique<FakeEngine>(FakeEngineOptions{}, Babble);
      },
      FakeTokenizer(), options);
  const Status ready = loop.ready().get();
  fs::remove(path);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(ready.error().message, path.string() + " was truncated while it was loaded");
}

}  // namespace
}  // namespace inferflux::scheduler
