// What a person sees while a model is being loaded.
#include "apps/inferfluxd/load_display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "apps/inferctl/pseudo_terminal.h"
#include "base/log.h"
#include "metrics/registry.h"

namespace inferflux::apps {
namespace {

using ::testing::HasSubstr;

class LoadDisplayTest : public ::testing::Test {
 protected:
  // The log finds out at its first line whether it is read at a terminal: here and in later tests it is not.
  static void SetUpTestSuite() {
    ::testing::internal::CaptureStderr();
    log::Error("the first line");
    ::testing::internal::GetCapturedStderr();
  }
  void SetUp() override {
    if (!PseudoTerminal::Available()) GTEST_SKIP() << "there are no pseudo terminals";
  }
};

TEST_F(LoadDisplayTest, ATerminalHasABarUntilTheLoadEnds) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  serving::EngineEntry entry{
      .target = serving::Target::kCpu,
      .make = [released](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
        released.wait();
        return Fail(ErrorCode::kInternal, "not meant to be made");
      },
      .devices =
          [] {
            return std::vector<compute::Device>{{"a CPU", 0}};
          }};
  const serving::BackendFactory factory({std::move(entry)}, {});
  metrics::Registry metrics;
  serving::LoadRequest request;
  request.requested_backend = "cpu";
  serving::ModelPool pool(factory, metrics, request);
  request.id = "slow";
  request.path = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";
  std::string seen, after;
  bool failed = false;
  {
    const PseudoTerminal terminal({STDERR_FILENO});
    const auto await = [&](const auto& condition) {
      while (!condition()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        seen += terminal.Seen();
      }
    };
    {
      const LoadDisplay display(pool, true);
      const auto loaded = pool.StartLoad(request);
      await([&] { return seen.find("loading slow") != std::string::npos; });
      release.set_value();
      failed = !loaded.get();
      seen.clear();
      await([&] { return seen.ends_with("\r\033[K"); });  // a bar that is drawn again only begins with it
    }
    after = terminal.Seen();
  }
  EXPECT_TRUE(failed);
  EXPECT_TRUE(seen.ends_with("\r\033[K")) << "nothing stays of it: " << seen;
  EXPECT_EQ(after, "");
}

TEST_F(LoadDisplayTest, WithoutALoadThereIsNothing) {
  const serving::BackendFactory factory({}, {});
  metrics::Registry metrics;
  const serving::ModelPool pool(factory, metrics, {});
  const PseudoTerminal terminal({STDERR_FILENO});
  {
    const LoadDisplay display(pool, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(terminal.Seen(), "");
}

}  // namespace
}  // namespace inferflux::apps
