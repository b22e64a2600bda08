// The life of a worker: its process, what it says of itself, and how each of its ends is told.
#include "worker/pool/managed_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <string>
#include <vector>

#include "worker/pool/fake_process.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using ManagedWorkerTest = WorkersTest;

TEST_F(ManagedWorkerTest, StartsServesDrainsRestartsAndEnds) {
  const auto worker = Make(3);
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kStarting));
  EXPECT_EQ(worker->link(), nullptr);
  EXPECT_EQ(worker->engine(), std::nullopt);
  Register(*worker);
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kServing));
  const auto link = worker->link();
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->worker_id, "cpu-3");
  EXPECT_EQ(link->headers.at(0).value, "Bearer 0123456789abcdef");
  EXPECT_EQ(info_.asked_with(), "Bearer 0123456789abcdef");
  EXPECT_EQ(link->client->address().port, net::ParsePlainAddress(info_.uri())->port);
  EXPECT_EQ(worker->engine()->context, 4000);
  EXPECT_EQ(worker->first_failure(), std::nullopt);
  link->in_flight = 4;
  worker->OnHeartbeat({.worker_id = "cpu-3",
                       .uri = info_.uri(),
                       .state = WorkerState::kBusy,
                       .progress = LoadStage{.stage = "weights", .fraction = 0.5},
                       .load = {.queued = 6}});
  const WorkerView view = worker->View();
  EXPECT_EQ(view.id, "cpu-3");
  EXPECT_EQ(view.model, "m");
  EXPECT_EQ(view.backend, "cpu (native)");
  EXPECT_EQ(view.program, "/bin/sh");
  EXPECT_EQ(view.state, WorkerState::kBusy);
  EXPECT_EQ(view.progress->fraction, 0.5);
  EXPECT_EQ(view.uri, info_.uri());
  EXPECT_EQ(view.load.queued, 6);
  EXPECT_EQ(view.in_flight, 4);
  EXPECT_EQ(view.restarts, 0);
  EXPECT_EQ(view.last_end, "");
  EXPECT_GE(view.seconds_in_phase, 0);
  EXPECT_LT(view.seconds_in_phase, 20);
  const auto metrics = [&] { return prometheus::TextSerializer().Serialize(registry_.Collectable().Collect()); };
  EXPECT_THAT(metrics(), HasSubstr("inferflux_worker_state{model=\"m\",state=\"serving\",worker=\"cpu-3\"} 1"));
  EXPECT_THAT(metrics(), HasSubstr("inferflux_worker_state{model=\"m\",state=\"starting\",worker=\"cpu-3\"} 0"));
  worker->Drain();
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kStopped));
  EXPECT_EQ(worker->link(), nullptr);
  EXPECT_THAT(lost(), ElementsAre(3));
  const WorkerView stopped = worker->View();
  EXPECT_EQ(stopped.pid, 0);
  EXPECT_EQ(stopped.uri, "");
  EXPECT_EQ(stopped.state, std::nullopt);
  EXPECT_EQ(stopped.last_end, "signal 15");
  EXPECT_EQ(stopped.restarts, 0) << "it was asked to end";
  EXPECT_EQ(worker->engine()->context, 4000) << "what it ran stays known";
  worker->Restart();
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kStarting));
  Register(*worker);
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kServing));
  const pid_t before = worker->View().pid;
  worker->Restart();
  ASSERT_TRUE(Eventually([&] { return worker->View().pid != before && worker->View().pid != 0; }));
  EXPECT_EQ(worker->View().restarts, 0);
  EXPECT_FALSE(worker->ended());
  worker->Retire();
  worker->Drain();  // too late to be kept
  ASSERT_TRUE(Reaches(*worker, WorkerPhase::kEnded));
  EXPECT_TRUE(worker->ended());
}

TEST_F(ManagedWorkerTest, ThePhasesHaveNames) {
  std::vector<std::string> names;
  for (int phase = 0; phase <= static_cast<int>(WorkerPhase::kEnded); ++phase)
    names.emplace_back(NameOf(static_cast<WorkerPhase>(phase)));
  EXPECT_THAT(names, ElementsAre("waiting", "open", "starting", "serving", "draining", "stopped", "ended"));
}

TEST_F(ManagedWorkerTest, AnEndBeforeItServesIsTheReasonOfItsFirstFailure) {
  const auto silent = Make(1, "exit 3");
  ASSERT_TRUE(Reaches(*silent, WorkerPhase::kWaiting) &&
              Eventually([&] { return silent->first_failure().has_value(); }));
  EXPECT_EQ(silent->first_failure()->code, ErrorCode::kUnavailable);
  EXPECT_EQ(silent->first_failure()->message, "its process ended: exit code 3");
  EXPECT_GE(silent->View().restarts, 1);
  EXPECT_THAT(prometheus::TextSerializer().Serialize(registry_.Collectable().Collect()),
              HasSubstr("inferflux_worker_restarts_total{model=\"m\"} "));
  const std::vector<std::pair<WorkerErrorCode, ErrorCode>> cases = {
      {WorkerErrorCode::kInsufficientMemory, ErrorCode::kResourceExhausted},
      {WorkerErrorCode::kModelLoadFailed, ErrorCode::kUnavailable}};
  int number = 2;
  for (const auto& [code, right] : cases) {
    const auto telling = Make(number++, "sleep 0.3; exit 4");
    ASSERT_TRUE(Eventually([&] { return telling->View().pid > 0; }));
    telling->OnDeregistration({.worker_id = telling->id(), .code = code, .reason = "too little"});
    ASSERT_TRUE(Eventually([&] { return telling->first_failure().has_value(); }));
    EXPECT_EQ(telling->first_failure()->code, right);
    EXPECT_EQ(telling->first_failure()->message, "too little");
    EXPECT_EQ(telling->View().last_end, "exit code 4: too little");
  }
  EXPECT_THAT(lost(), ElementsAre()) << "none of them served";
  const auto asked = Serving(number, "trap 'exit 0' TERM; while :; do sleep 0.02; done");
  asked->OnDeregistration(
      {.worker_id = asked->id(), .code = WorkerErrorCode::kCancelled, .reason = "it was asked to stop"});
  EXPECT_EQ(asked->link(), nullptr) << "it takes no more requests";
  asked->Drain();
  ASSERT_TRUE(Reaches(*asked, WorkerPhase::kStopped));
  EXPECT_EQ(asked->View().last_end, "exit code 0");
  EXPECT_EQ(asked->first_failure(), std::nullopt);
}

TEST_F(ManagedWorkerTest, AProgramThatIsNotThereIsAFailureToo) {
  WorkerSpec spec{.id = "w", .number = 9, .model = "m"};
  spec.process.program = "/no/such/worker";
  all_.push_back(std::make_shared<ManagedWorker>(io_, std::move(spec), registry_, [](int) {}));
  boost::asio::co_spawn(io_, all_.back()->Supervise(), boost::asio::detached);
  ASSERT_TRUE(Eventually([&] { return all_.back()->first_failure().has_value(); }));
  EXPECT_THAT(all_.back()->first_failure()->message, HasSubstr("/no/such/worker"));
}

TEST_F(ManagedWorkerTest, OneThatIsNotReadyInTimeOrSilentOrStubbornIsKilled) {
  const auto late = Make(1, "exec sleep 100", {.start = 200ms});
  ASSERT_TRUE(Eventually([&] { return !late->View().last_end.empty(); }));
  EXPECT_EQ(late->View().last_end, "signal 9: it was not ready within 0 s");
  late->Retire();
  const auto silent = Serving(2, "exec sleep 100", {.heartbeat = 20ms, .grace = 0ms});
  const auto lively = Serving(3, "exec sleep 100", {.heartbeat = 20ms, .grace = 0ms});
  const auto stubborn = Serving(4, "trap '' TERM; while :; do sleep 0.02; done", {.grace = 100ms});
  const auto began = std::chrono::steady_clock::now();
  stubborn->Drain();
  EXPECT_TRUE(Reaches(*stubborn, WorkerPhase::kDraining));
  EXPECT_TRUE(Eventually([&] {
    lively->OnHeartbeat({.worker_id = lively->id(), .uri = info_.uri(), .state = WorkerState::kReady});
    return !silent->View().last_end.empty();
  }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 800ms) << "a busy machine has a second more";
  EXPECT_EQ(silent->View().last_end, "signal 9: it missed three heartbeats");
  EXPECT_EQ(silent->View().restarts, 1);
  EXPECT_TRUE(Eventually([&] {
    lively->OnHeartbeat({.worker_id = lively->id(), .uri = info_.uri(), .state = WorkerState::kReady});
    return stubborn->View().phase == WorkerPhase::kStopped;
  }));
  EXPECT_EQ(stubborn->View().last_end, "signal 9: it did not stop within its grace time");
  EXPECT_GE(std::chrono::steady_clock::now() - began, 2s);
  EXPECT_EQ(lively->View().phase, WorkerPhase::kServing);
  EXPECT_EQ(lively->View().last_end, "");
}

TEST_F(ManagedWorkerTest, OneThatDrainsByItselfGetsNoMoreRequests) {
  const auto worker = Serving(1);
  worker->OnHeartbeat({.worker_id = worker->id(), .uri = info_.uri(), .state = WorkerState::kDraining});
  EXPECT_EQ(worker->View().phase, WorkerPhase::kDraining);
  EXPECT_EQ(worker->link(), nullptr);
}

TEST_F(ManagedWorkerTest, OneWhoseInfoSaysNothingDoesNotServe) {
  info_.status = 503;
  const auto refusing = Make(1), empty = Make(2);
  Register(*refusing);
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(refusing->View().phase, WorkerPhase::kStarting);
  info_.with_engine = false;
  info_.status = 200;
  Register(*empty);
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(empty->View().phase, WorkerPhase::kStarting);
  info_.with_engine = true;
  EXPECT_TRUE(Reaches(*refusing, WorkerPhase::kServing));
  EXPECT_TRUE(Reaches(*empty, WorkerPhase::kServing));
}

TEST_F(ManagedWorkerTest, ItsLastLinesAreKept) {
  const auto worker = Make(1,
                           "i=1; while [ $i -le 502 ]; do echo line $i; i=$((i+1)); done; "
                           "printf '{\"worker_id\":1}\\nend'; exec sleep 100");
  ASSERT_TRUE(Eventually([&] { return worker->Log().size() == 500 && worker->Log().back() == "{\"worker_id\":1}"; }));
  std::vector<std::string> log = worker->Log();
  EXPECT_EQ(log.front(), "line 4");
  EXPECT_EQ(log.at(498), "line 502");
  worker->Retire();
  EXPECT_TRUE(Eventually([&] { return worker->Log().back() == "end"; })) << "also without the end of its line";
}

TEST_F(ManagedWorkerTest, ALongLineIsCutAndLosesNothing) {
  const auto worker =
      Make(1, "head -c 4096 /dev/zero | tr '\\0' x; echo; head -c 4100 /dev/zero | tr '\\0' y; echo; exec sleep 100");
  ASSERT_TRUE(Eventually([&] { return worker->Log().size() == 3; }));
  EXPECT_THAT(worker->Log(), ElementsAre(std::string(4096, 'x'), std::string(4096, 'y'), "yyyy"));
}

}  // namespace
}  // namespace inferflux::worker
