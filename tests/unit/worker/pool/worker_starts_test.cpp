// What the processes of a model's workers are started with, and which of them gets a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/host_memory.h"
#include "worker/pool/fake_program.h"

namespace inferflux::worker {
namespace {

using ::testing::HasSubstr;

std::set<int> OwnCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
  std::set<int> out;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) out.insert(core);
  }
  return out;
}

// Of a line of /proc/self/status: "Cpus_allowed_list:\t0-1,3".
std::set<int> CoresOf(const std::string& line) {
  std::set<int> out;
  std::istringstream ranges(line.substr(line.find('\t') + 1));
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    if (std::sscanf(range.c_str(), "%d-%d", &first, &last) == 1) last = first;
    for (; first <= last; ++first) out.insert(first);
  }
  return out;
}

class WorkerStartsTest : public WorkerManagerTest {
 protected:
  // The processes of a load that is then given up.
  std::vector<Told> StartedBy(WorkerManager& manager, size_t count) {
    std::stop_source stop;
    request_.stop = stop.get_token();
    auto started =
        std::async(std::launch::async, [&] { return manager.Starter()(engine_, engine_request_, request_); });
    std::vector<Told> out = Processes(count);
    views_ = manager.List();
    stop.request_stop();
    EXPECT_FALSE(started.get());
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("told.")) fs::remove(entry.path());
    }
    return out;
  }

  std::vector<WorkerView> views_;  // while they ran
};

TEST_F(WorkerStartsTest, WorkersOfTheProcessorShareItsCores) {
  const std::set<int> own = OwnCores();
  options_.count = 2;
  for (const int32_t expected : {1, 2}) {
    options_.expected = expected;
    auto manager = *WorkerManager::Start(options_, registry_);
    const std::vector<Told> processes = StartedBy(*manager, 2);
    ASSERT_EQ(processes.size(), 2u);
    std::set<int> all;
    for (const Told& each : processes) {
      const std::set<int> cores = CoresOf(each.cores);
      EXPECT_EQ(cores.size(), expected == 1 ? own.size() : std::max<size_t>(1, own.size() / 2)) << each.cores;
      EXPECT_TRUE(std::ranges::includes(own, cores)) << each.cores;
      all.insert(cores.begin(), cores.end());
    }
    EXPECT_GE(all.size() + 1, own.size()) << "a core that cannot be divided is left";
  }
  WriteProgram("inferflux-worker-cuda", "/dev/fd/3");
  engine_.target = serving::Target::kCuda;
  auto manager = *WorkerManager::Start(options_, registry_);
  for (const Told& each : StartedBy(*manager, 2)) EXPECT_EQ(CoresOf(each.cores), own) << "it computes elsewhere";
}

TEST_F(WorkerStartsTest, ALauncherStartsWorkersOfSeveralRanks) {
  WriteProgram("launch", "/dev/fd/0");
  const std::string launcher = (folder_ / "launch").string(), program = (folder_ / "inferflux-worker-cpu").string();
  options_.rank_launcher = {launcher, "--hosts", "a,b"};
  options_.expected = 2;
  options_.times.heartbeat = std::chrono::milliseconds(400);
  options_.times.grace = std::chrono::milliseconds(0);
  engine_request_.config.tensor_parallel = 2;
  engine_request_.config.pipeline_parallel = 3;
  auto manager = *WorkerManager::Start(options_, registry_);
  const std::vector<Told> processes = StartedBy(*manager, 1);
  ASSERT_EQ(processes.size(), 1u);
  const Told& told = processes[0];
  EXPECT_EQ(told.secret.size(), 64u);
  EXPECT_EQ(told.models, "[{\"id\":\"m\",\"path\":\"" + model_ +
                             R"(","backend":"native_cpu","tensor_parallel":2,"pipeline_parallel":3}])");
  ASSERT_EQ(told.words.size(), 35u) << ::testing::PrintToString(told.words);
  const std::string& url = told.words[22];
  EXPECT_TRUE(url.starts_with("http://127.0.0.1:") && url.ends_with("/workers")) << url;
  EXPECT_EQ(told.words, (std::vector<std::string>{"--hosts",
                                                  "a,b",
                                                  "-n",
                                                  "6",
                                                  program,
                                                  "--runtime-max-batch-tokens",
                                                  "0",
                                                  "--runtime-goal",
                                                  "throughput",
                                                  "--runtime-speculation",
                                                  "auto",
                                                  "--runtime-max-draft-tokens",
                                                  "4",
                                                  "--runtime-session-memory",
                                                  std::to_string(request_.sessions.memory_bytes),
                                                  "--runtime-session-disk",
                                                  std::to_string(request_.sessions.disk_bytes),
                                                  "--worker-id",
                                                  "cpu-1",
                                                  "--port",
                                                  "0",
                                                  "--callback-url",
                                                  url,
                                                  "--token-file",
                                                  "/dev/stdin",
                                                  "--worker-heartbeat-seconds",
                                                  "1",
                                                  "--worker-grace-seconds",
                                                  "0",
                                                  "--runtime-threads",
                                                  "3",
                                                  "--log-level",
                                                  "info",
                                                  "--log-format",
                                                  "json"}));
  EXPECT_EQ(CoresOf(told.cores), OwnCores()) << "ranks may run on other hosts";
  ASSERT_EQ(views_.size(), 1u);
  EXPECT_EQ(views_[0].program, launcher);
  // One rank needs no launcher.
  engine_request_.config = {};
  const std::vector<Told> alone = StartedBy(*manager, 1);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].flags.at("--worker-id"), "cpu-2");
  EXPECT_EQ(alone[0].flags.at("--token-file"), "/dev/fd/3");
  ASSERT_EQ(views_.size(), 1u);
  EXPECT_EQ(views_[0].program, program);
  EXPECT_EQ(views_[0].model, "m");
  EXPECT_EQ(views_[0].id, "cpu-2");
}

TEST_F(WorkerStartsTest, WithoutALauncherAWorkerStartsItsRanks) {
  engine_request_.config.tensor_parallel = 2;
  auto manager = *WorkerManager::Start(options_, registry_);
  const std::vector<Told> processes = StartedBy(*manager, 1);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].words.at(0), "--runtime-max-batch-tokens");
  EXPECT_EQ(processes[0].flags.at("--token-file"), "/dev/fd/3");
}

TEST_F(WorkerStartsTest, ADevicesMemoryIsNotThatOfTheHost) {
  engine_.target = serving::Target::kCuda;
  engine_request_.config.kv_budget = int64_t{1} << 50;
  auto manager = *WorkerManager::Start(options_, registry_);
  const auto failed = manager->Starter()(engine_, engine_request_, request_);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("cannot run " + (folder_ / "inferflux-worker-cuda").string()));
}

TEST_F(WorkerStartsTest, ALoadMayTakeAsLongAsItIsGiven) {
  options_.times.start = std::chrono::milliseconds(1000);
  auto manager = *WorkerManager::Start(options_, registry_);
  const auto late = manager->Starter()(engine_, engine_request_, request_);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(late.error().message, "its process ended: signal 9: it was not ready within 1 s");
  EXPECT_TRUE(manager->List().empty());
}

TEST_F(WorkerStartsTest, WhatAlmostFitsFitsWithATenthMore) {
  const int64_t free = ReadHostMemory().free;
  auto manager = *WorkerManager::Start(options_, registry_);
  engine_request_.config.kv_budget = 2 * free;  // other programs may free some meanwhile
  EXPECT_EQ(manager->Starter()(engine_, engine_request_, request_).error().code, ErrorCode::kResourceExhausted);
  engine_request_.config.kv_budget = free / 4;
  EXPECT_EQ(StartedBy(*manager, 1).size(), 1u);
}

TEST_F(WorkerStartsTest, TheProgressOfALoadIsThatOfTheSlowest) {
  options_.count = 2;
  auto manager = *WorkerManager::Start(options_, registry_);
  std::stop_source stop;
  request_.stop = stop.get_token();
  request_.progress = std::make_shared<serving::LoadProgress>();
  auto started = std::async(std::launch::async, [&] { return manager->Starter()(engine_, engine_request_, request_); });
  const auto processes = Processes(2);
  ASSERT_EQ(processes.size(), 2u);
  const auto tell = [&](const char* id, double fraction) {
    return Post(processes[0], "/heartbeat",
                ToText(Heartbeat{.worker_id = id,
                                 .uri = "http://x",
                                 .state = WorkerState::kLoading,
                                 .progress = LoadStage{.stage = "weights", .fraction = fraction}}));
  };
  EXPECT_EQ(tell("cpu-1", 0.5), 200);
  EXPECT_EQ(tell("cpu-2", 0.25), 200);
  EXPECT_TRUE(Eventually([&] { return request_.progress->Read().fraction == 0.25; }));
  EXPECT_EQ(tell("cpu-2", 0.75), 200);
  EXPECT_TRUE(Eventually([&] { return request_.progress->Read().fraction == 0.5; }));
  stop.request_stop();
  EXPECT_FALSE(started.get());
}

TEST_F(WorkerStartsTest, SomeOnlyComputePromptsAndTheOthersGetTheRequests) {
  options_.count = 2;
  options_.prefill = 1;
  request_.metrics = &registry_;
  auto manager = *WorkerManager::Start(options_, registry_);
  auto started = std::async(std::launch::async, [&] { return manager->Starter()(engine_, engine_request_, request_); });
  const auto processes = Processes(2);
  ASSERT_EQ(processes.size(), 2u);
  const size_t limit = 1 << 20;
  EXPECT_EQ(Post(processes[0], "/ready", std::string(limit, ' ')), 400);
  EXPECT_EQ(Post(processes[0], "/ready", std::string(limit + 1, ' ')), 413);
  EXPECT_EQ(Post(processes[0], "/deregister", "{}"), 400);
  for (const Told& each : processes) EXPECT_EQ(Ready(each), 200);
  const auto engine = started.get();
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_THAT(prometheus::TextSerializer().Serialize(registry_.Collectable().Collect()),
              HasSubstr("inferflux_model_prompt_tokens_total{backend=\"cpu\",model=\"m\"} 0"));
  for (TokenId token = 0; token < 12; ++token) {
    const auto stream = engine->scheduler->Submit({.prompt = {token}, .max_tokens = 2});
    ASSERT_TRUE(stream) << stream.error().message;
    std::string error;
    EXPECT_TRUE(Eventually([&] {
      const auto event = (*stream)->TryPop();
      if (event && event->finish) error = event->finish->error.message;
      return !error.empty();
    }));
    EXPECT_EQ(error, "worker cpu-2 answered 404");
  }
  EXPECT_EQ(Post(processes[0], "/deregister",
                 ToText(Deregistration{
                     .worker_id = "cpu-2", .code = WorkerErrorCode::kCancelled, .reason = "it was asked to stop"})),
            200);
  const auto rest = engine->scheduler->Submit({.prompt = {1}, .max_tokens = 2});
  ASSERT_TRUE(rest);
  std::string error;
  EXPECT_TRUE(Eventually([&] {
    const auto event = (*rest)->TryPop();
    if (event && event->finish) error = event->finish->error.message;
    return !error.empty();
  }));
  EXPECT_EQ(error, "worker cpu-1 answered 404") << "the other one has said goodbye";
  engine->scheduler->Stop();
}

}  // namespace
}  // namespace inferflux::worker
