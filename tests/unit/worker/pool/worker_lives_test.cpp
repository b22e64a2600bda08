// One life of a worker after another: what of the last one is forgotten, and when the next one begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/log.h"
#include "worker/pool/fake_process.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WorkerLivesTest : public WorkersTest {
 protected:
  WorkerLivesTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~WorkerLivesTest() override {
    Go();
    for (const auto& worker : all_) worker->Retire();
    for (const auto& worker : all_) EXPECT_TRUE(Eventually([&] { return worker->ended(); }));
    std::filesystem::remove_all(folder_);
  }

  // Its first life does this; the second one ends with code 2, the third one with 3.
  std::string Lives(const std::string& first) const {
    const std::string count = (folder_ / "count").string();
    return "n=$(cat " + count + " 2>/dev/null || echo 0); n=$((n+1)); echo $n > " + count + "; if [ $n = 1 ]; then " +
           first + "; fi; exit $n";
  }
  // The words of a shell that wait for Go.
  std::string Wait() const { return "while [ ! -e " + (folder_ / "go").string() + " ]; do sleep 0.02; done"; }
  void Go() const { std::ofstream(folder_ / "go") << ""; }
  static bool Ended(const ManagedWorker& worker, int64_t times) {
    return Eventually([&] { return worker.View().restarts >= times; });
  }
  std::string Metrics() const { return prometheus::TextSerializer().Serialize(registry_.Collectable().Collect()); }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("worker_lives_" + std::to_string(::getpid()));
};

TEST_F(WorkerLivesTest, WhyItWasKilledIsSaidOnce) {
  const auto late = Make(1, Lives("exec sleep 100"), {.start = 5000ms});
  ASSERT_TRUE(Ended(*late, 1));
  EXPECT_EQ(late->View().last_end, "signal 9: it was not ready within 5 s");
  EXPECT_EQ(late->first_failure()->message, "its process ended: signal 9: it was not ready within 5 s");
  late->Restart();
  ASSERT_TRUE(Ended(*late, 2));
  EXPECT_EQ(late->View().last_end, "exit code 2");
  EXPECT_EQ(late->first_failure()->message, "its process ended: signal 9: it was not ready within 5 s")
      << "the first stays";
}

TEST_F(WorkerLivesTest, AFarewellIsOfOneLife) {
  const auto worker = Make(1, Lives(Wait()));
  ASSERT_TRUE(Eventually([&] { return worker->View().pid > 0; }));
  worker->OnHeartbeat({.worker_id = worker->id(),
                       .uri = "http://127.0.0.1:9",
                       .state = WorkerState::kLoading,
                       .progress = LoadStage{.stage = "weights", .fraction = 0.5},
                       .load = {.queued = 6}});
  EXPECT_EQ(worker->View().phase, WorkerPhase::kStarting);
  EXPECT_EQ(worker->View().uri, "http://127.0.0.1:9");
  worker->OnDeregistration({.worker_id = worker->id(), .code = WorkerErrorCode::kModelLoadFailed, .reason = "damaged"});
  Go();
  WorkerView between;
  ASSERT_TRUE(Eventually([&] {
    between = worker->View();
    return between.restarts >= 1;
  }));
  EXPECT_EQ(between.last_end, "exit code 1: damaged");
  EXPECT_EQ(between.pid, 0);
  EXPECT_EQ(between.uri, "");
  EXPECT_EQ(between.state, std::nullopt);
  EXPECT_FALSE(between.progress);
  EXPECT_EQ(between.load.queued, 0);
  worker->Restart();
  ASSERT_TRUE(Ended(*worker, 2));
  EXPECT_EQ(worker->View().last_end, "exit code 2");
}

TEST_F(WorkerLivesTest, ANewProcessHasSaidNothingYet) {
  const auto worker = Serving(1);
  worker->OnHeartbeat({.worker_id = worker->id(), .uri = "http://127.0.0.1:9", .state = WorkerState::kBusy});
  EXPECT_EQ(worker->View().uri, "http://127.0.0.1:9") << "it may have moved";
  const pid_t before = worker->View().pid;
  worker->Restart();
  WorkerView view;
  ASSERT_TRUE(Eventually([&] {
    view = worker->View();
    return view.pid > 0 && view.pid != before;
  }));
  EXPECT_EQ(view.phase, WorkerPhase::kStarting);
  EXPECT_EQ(view.state, std::nullopt);
  EXPECT_EQ(view.uri, "");
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(worker->View().phase, WorkerPhase::kStarting) << "the last one's registration is not its own";
}

TEST_F(WorkerLivesTest, OneThatIsKilledWaitsForItsNextLife) {
  const auto worker = Serving(1, Lives("exec sleep 100"));
  ::kill(worker->View().pid, SIGKILL);
  WorkerView view;
  ASSERT_TRUE(Eventually([&] {
    view = worker->View();
    return view.phase == WorkerPhase::kWaiting;
  }));
  EXPECT_EQ(view.last_end, "signal 9");
  EXPECT_EQ(view.restarts, 1);
  EXPECT_EQ(view.pid, 0);
  EXPECT_EQ(worker->link(), nullptr);
  EXPECT_THAT(lost(), ElementsAre(1));
  EXPECT_THAT(Metrics(), HasSubstr("inferflux_worker_restarts_total{model=\"m\"} 1\n"));
  worker->Restart();
  ASSERT_TRUE(Ended(*worker, 2));
  EXPECT_EQ(worker->View().last_end, "exit code 2");
  EXPECT_THAT(lost(), ElementsAre(1)) << "the second one has not served";
  EXPECT_EQ(worker->first_failure(), std::nullopt) << "its model is known to load";
}

TEST_F(WorkerLivesTest, AnOperatorMayRestartItAsOftenAsHeLikes) {
  const auto worker = Make(1, "exit 3");
  for (int64_t times = 1; times <= 6; ++times) {
    ASSERT_TRUE(Ended(*worker, times)) << times;
    worker->Restart();
  }
  EXPECT_TRUE(Ended(*worker, 7));
  EXPECT_NE(worker->View().phase, WorkerPhase::kOpen);
}

TEST_F(WorkerLivesTest, AnAddressThatLeadsNowhereIsTriedUntilItIsRight) {
  const auto worker = Make(1);
  ASSERT_TRUE(Eventually([&] { return worker->View().pid > 0; }));
  for (const char* wrong : {"ftp://127.0.0.1:9", "http://127.0.0.1:1"}) {  // nobody listens there
    worker->OnReady({.worker_id = worker->id(), .uri = wrong});
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(worker->View().phase, WorkerPhase::kStarting) << wrong;
    EXPECT_EQ(worker->View().uri, wrong);
  }
  worker->OnHeartbeat({.worker_id = worker->id(), .uri = info_.uri(), .state = WorkerState::kDraining});
  EXPECT_TRUE(Reaches(*worker, WorkerPhase::kServing)) << "only what serves can drain";
}

TEST_F(WorkerLivesTest, APhaseBeginsWithIt) {
  const auto worker = Make(1);
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kStarting));
  std::this_thread::sleep_for(300ms);
  EXPECT_GE(worker->View().seconds_in_phase, 0.29);
  const auto before = std::chrono::steady_clock::now();
  Register(*worker);
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kServing));
  const double seconds = worker->View().seconds_in_phase;
  EXPECT_GE(seconds, 0);
  EXPECT_LE(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
}

TEST_F(WorkerLivesTest, WhileItDrainsItGetsNothingMore) {
  const auto worker = Serving(1, "trap '' TERM; " + Wait());
  worker->Drain();
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kDraining));
  EXPECT_EQ(worker->link(), nullptr);
  EXPECT_GT(worker->View().pid, 0) << "its requests go on";
  worker->OnReady({.worker_id = worker->id(), .uri = info_.uri()});
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(worker->link(), nullptr);
  Go();
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kStopped));
  EXPECT_EQ(worker->View().last_end, "exit code 0");
  EXPECT_EQ(worker->View().restarts, 0);
  EXPECT_EQ(Metrics().find("inferflux_worker_restarts_total{"), std::string::npos);
}

TEST_F(WorkerLivesTest, ItsLinesAreThoseOfThePoolsLogWithItsName) {
  log::SetLevel(log::Level::kInfo);
  ::testing::internal::CaptureStderr();
  const auto worker = Make(1, "echo plain; echo '{\"worker_id\":1}'; exec sleep 100");
  EXPECT_TRUE(Eventually([&] { return worker->Log().size() == 2; }));
  const std::string log = ::testing::internal::GetCapturedStderr();
  log::SetLevel(log::Level::kWarning);
  EXPECT_THAT(log, HasSubstr(" info plain worker_id=cpu-1\n"));
  EXPECT_THAT(log, HasSubstr("\n{\"worker_id\":1}\n")) << "it says already whose it is";
  EXPECT_THAT(worker->Log(), ElementsAre("plain", "{\"worker_id\":1}"));
}

}  // namespace
}  // namespace inferflux::worker
