// A model whose file is truncated while it is served: it computes nothing more, and says which file it was.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/mapped_file.h"
#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

namespace fs = std::filesystem;

class LostFiles : public ::testing::Test {
 protected:
  LostFiles() {
    std::string pattern = (fs::temp_directory_path() / "inferflux_lost_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LostFiles() override { fs::remove_all(folder_); }

  std::shared_ptr<const MappedFile> Map(const std::string& name) {
    std::ofstream(folder_ / name) << std::string(100'000, 'x');
    return *MappedFile::Open((folder_ / name).string());
  }
  // Reads what a truncated file has lost.
  void Lose(const MappedFile& file) {
    fs::resize_file(file.path(), 4096);
    volatile std::byte last = file.bytes().back();
    (void)last;
  }
  std::unique_ptr<SchedulerDriver> Serve(std::vector<std::string> files) {
    SchedulerExtras extras;
    extras.model_files = std::move(files);
    extras.file_faults = FileFaults();
    return std::make_unique<SchedulerDriver>(Babble, FakeEngineOptions{}, StepPolicy{.max_running = 1}, FakeTokenizer(),
                                             std::move(extras));
  }

  fs::path folder_;
};

TEST_F(LostFiles, EndTheModelAndEveryRequest) {
  const auto file = Map("model.gguf"), draft = Map("draft.gguf");
  const auto driver = Serve({folder_ / "none", file->path(), draft->path()});
  const auto running = driver->Submit({.prompt = Bytes("ab"), .max_tokens = 50});
  const auto waiting = driver->Submit({.prompt = Bytes("cd"), .max_tokens = 50});
  EXPECT_TRUE(driver->core.Step());
  const int64_t steps = driver->engine.steps;
  Lose(*file);
  EXPECT_FALSE(driver->core.Step());
  Lose(*draft);  // the first one stays the reason
  const auto late = driver->Submit({.prompt = Bytes("ef"), .max_tokens = 50});
  EXPECT_FALSE(driver->core.Step());
  EXPECT_EQ(driver->engine.steps, steps);
  for (const auto& stream : {running, waiting, late}) {
    Received received;
    Read(*stream, received);
    ASSERT_TRUE(received.done());
    EXPECT_EQ(received.finish->reason, FinishReason::kError);
    EXPECT_EQ(received.finish->error.code, ErrorCode::kDataLoss);
    EXPECT_EQ(received.finish->error.message,
              file->path() +
                  " was truncated or replaced while it was served: the model is lost; restore the file, unload the "
                  "model and load it again");
  }
  EXPECT_EQ(driver->engine.usage().blocks_used, 0);
}

TEST_F(LostFiles, ThatAreLostInAStepSpoilItsResult) {
  const auto file = Map("model.gguf");
  const auto driver = Serve({folder_.string()});
  driver->engine.on_step = [&](const engine::UnifiedBatch&) { Lose(*file); };
  const Received received = driver->Generate({.prompt = Bytes("ab"), .max_tokens = 5});
  EXPECT_EQ(received.text, "");
  EXPECT_EQ(received.finish->error.code, ErrorCode::kDataLoss);
  EXPECT_EQ(driver->engine.steps, 1);
}

TEST_F(LostFiles, OfOthersAreNoMatter) {
  const auto other = Map("other.gguf"), before = Map("before.gguf");
  Lose(*before);
  const auto driver = Serve({folder_ / "model.gguf", before->path()});
  driver->engine.on_step = [&](const engine::UnifiedBatch&) { Lose(*other); };
  const Received received = driver->Generate({.prompt = Bytes("ab"), .max_tokens = 5});
  EXPECT_EQ(received.finish->reason, FinishReason::kLength);
  EXPECT_EQ(received.text.size(), 5u);
}

TEST(NextDeadline, IsTheFirstOfAllRequests) {
  using std::chrono::seconds;
  SchedulerDriver driver(Babble, {}, {.max_running = 1});
  EXPECT_FALSE(driver.core.next_deadline());
  const auto first = driver.Submit({.prompt = Bytes("a"), .max_tokens = 50, .deadline = driver.now + seconds(5)});
  driver.core.Step();
  EXPECT_EQ(driver.core.next_deadline(), driver.now + seconds(5));
  const auto second = driver.Submit({.prompt = Bytes("b"), .max_tokens = 50, .deadline = driver.now + seconds(3)});
  const auto third = driver.Submit({.prompt = Bytes("c"), .max_tokens = 50, .deadline = driver.now + seconds(4)});
  const auto without = driver.Submit({.prompt = Bytes("d"), .max_tokens = 50});
  EXPECT_EQ(driver.core.next_deadline(), driver.now + seconds(3));
  second->Cancel();
  driver.core.Step();
  EXPECT_EQ(driver.core.next_deadline(), driver.now + seconds(4));
  third->Cancel();
  driver.core.Step();
  EXPECT_EQ(driver.core.next_deadline(), driver.now + seconds(5)) << "of the one that runs";
}

}  // namespace
}  // namespace inferflux::scheduler
