// The pool's end of the contract: how workers are started, and what they may tell. The worker program is a script, for
// which the test speaks.
#include "worker/pool/worker_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "worker/pool/fake_program.h"

namespace inferflux::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(WorkerManagerTest, StartsWorkersTakesTheirCallbacksAndEndsThem) {
  options_.count = 2;
  options_.prefill = 1;
  auto manager = *WorkerManager::Start(options_, registry_);
  auto started = std::async(std::launch::async, [&] { return manager->Starter()(engine_, engine_request_, request_); });
  const auto processes = Processes(2);
  ASSERT_EQ(processes.size(), 2u);
  const Told& first = processes[0];
  EXPECT_EQ(first.secret.size(), 64u);
  EXPECT_EQ(first.models, "[{\"id\":\"m\",\"path\":\"" + model_ + "\",\"backend\":\"native_cpu\"}]");
  EXPECT_EQ(first.flags.at("--port"), "0");
  EXPECT_EQ(first.flags.at("--token-file"), "/dev/fd/3");
  EXPECT_EQ(first.flags.at("--worker-heartbeat-seconds"), "7");
  EXPECT_EQ(first.flags.at("--worker-grace-seconds"), "2");
  EXPECT_EQ(first.flags.at("--runtime-threads"), "3");
  EXPECT_EQ(first.flags.at("--log-level"), "info");
  EXPECT_EQ(first.flags.at("--log-format"), "json");
  EXPECT_EQ(first.flags.at("--runtime-goal"), "throughput");
  EXPECT_THAT((std::vector<std::string>{first.flags.at("--worker-id"), processes[1].flags.at("--worker-id")}),
              ::testing::UnorderedElementsAre("cpu-1", "cpu-2"));
  // Who has no token, or breaks the contract, or is no worker, is not listened to.
  const std::string ready = ToText(ReadyCallback{.worker_id = "cpu-1", .uri = info_.uri()});
  EXPECT_EQ(Post(first, "/ready", ready, false), 401);
  EXPECT_EQ(Post(first, "/ready", "{}"), 400);
  EXPECT_EQ(Post(first, "/ready", ToText(ReadyCallback{.worker_id = "cpu-7", .uri = info_.uri()})), 404);
  EXPECT_EQ(started.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  for (const Told& each : processes) EXPECT_EQ(Ready(each), 200);
  const auto engine = started.get();
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->info.context, 4000);
  EXPECT_THAT(engine->workers, ElementsAre("cpu-1", "cpu-2"));
  EXPECT_EQ(Post(first, "/heartbeat",
                 ToText(Heartbeat{.worker_id = "cpu-2", .uri = info_.uri(), .state = WorkerState::kBusy})),
            200);
  auto views = manager->List();
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[1].state, WorkerState::kBusy);
  EXPECT_EQ(views[0].state, std::nullopt);
  EXPECT_EQ(views[0].backend, "cpu (native)");
  EXPECT_EQ(views[0].phase, WorkerPhase::kServing);
  EXPECT_TRUE(manager->Log("cpu-1"));
  EXPECT_TRUE(manager->Drain("cpu-2"));
  EXPECT_TRUE(Eventually([&] { return manager->List()[1].phase == WorkerPhase::kStopped; }));
  EXPECT_TRUE(manager->Restart("cpu-2"));
  EXPECT_TRUE(Eventually([&] { return manager->List()[1].phase == WorkerPhase::kStarting; }));
  for (const Status& none : {manager->Drain("cpu-3"), manager->Restart("cpu-3"),
                             manager->Log("cpu-3") ? Status()
                                                   : Status(Fail(manager->Log("cpu-3").error().code, "{}",
                                                                 manager->Log("cpu-3").error().message))}) {
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(none.error().message, "there is no worker 'cpu-3'");
  }
  engine->scheduler->Stop();
  EXPECT_TRUE(manager->List().empty());
}

TEST_F(WorkerManagerTest, AFailedStartIsToldAndLeavesNothing) {
  std::ofstream(folder_ / "fail") << "";
  auto manager = *WorkerManager::Start(options_, registry_);
  const auto failed = manager->Starter()(engine_, engine_request_, request_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "its process ended: exit code 9");
  EXPECT_TRUE(manager->List().empty());
  request_.path = (folder_ / "none.gguf").string();
  EXPECT_EQ(manager->Starter()(engine_, engine_request_, request_).error().code, ErrorCode::kNotFound);
}

TEST_F(WorkerManagerTest, ALoadCanBeCancelledAndTellsItsProgress) {
  auto manager = *WorkerManager::Start(options_, registry_);
  std::stop_source stop;
  request_.stop = stop.get_token();
  request_.progress = std::make_shared<serving::LoadProgress>();
  auto started = std::async(std::launch::async, [&] { return manager->Starter()(engine_, engine_request_, request_); });
  const auto processes = Processes(1);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(Post(processes[0], "/heartbeat",
                 ToText(Heartbeat{.worker_id = "cpu-1",
                                  .uri = "http://x",
                                  .state = WorkerState::kLoading,
                                  .progress = LoadStage{.stage = "weights", .fraction = 0.25}})),
            200);
  EXPECT_TRUE(Eventually([&] { return request_.progress->Read().fraction == 0.25; }));
  stop.request_stop();
  const auto cancelled = started.get();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(cancelled.error().message, "the load was cancelled");
}

TEST_F(WorkerManagerTest, WhatDoesNotFitIntoMemoryIsNotStarted) {
  options_.count = 4;
  auto manager = *WorkerManager::Start(options_, registry_);
  engine_request_.config.kv_budget = int64_t{1} << 50;
  const auto refused = manager->Starter()(engine_, engine_request_, request_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("the model needs 4724464026 MiB"));  // 4 workers, a tenth more
  EXPECT_TRUE(manager->List().empty());
}

TEST_F(WorkerManagerTest, AnEngineWithoutItsProgramIsAbsent) {
  auto manager = *WorkerManager::Start(options_, registry_);
  const serving::EngineMaker make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
    return Fail(ErrorCode::kInternal, "unused");
  };
  const auto found =
      manager->WithPrograms({{.target = serving::Target::kCpu, .make = make},
                             {.target = serving::Target::kCpu, .provider = serving::Provider::kLlamaCpp, .make = make},
                             {.target = serving::Target::kReference, .make = make},
                             {.target = serving::Target::kCuda, .why_absent = "not built"}});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_TRUE(found[0].make);
  EXPECT_FALSE(found[1].make);
  EXPECT_EQ(found[1].why_absent, "there is no worker program " + (folder_ / "inferflux-worker-llama").string() +
                                     "; build inferflux-workers");
  EXPECT_FALSE(found[2].make);
  EXPECT_EQ(found[2].why_absent, "no worker program runs reference (native)");
  EXPECT_EQ(found[3].why_absent, "not built");
}

}  // namespace
}  // namespace inferflux::worker
