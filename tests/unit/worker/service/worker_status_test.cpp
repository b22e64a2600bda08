// What a worker says of itself in each state.
#include "worker/service/worker_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/version/version.h"
#include "model/loading/model_source.h"
#include "worker/contract/codec.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;

TEST(WorkerStatus, ThroughALoadThatFails) {
  WorkerStatus status("w-1", "/m.gguf");
  EXPECT_EQ(status.state(), WorkerState::kStarting);
  status.SetListening("http://127.0.0.1:9");
  EXPECT_EQ(status.uri(), "http://127.0.0.1:9");
  EXPECT_EQ(ToText(status.MakeHeartbeat()),
            R"({"worker_id":"w-1","uri":"http://127.0.0.1:9","state":"starting","load":)" + ToText(WorkerLoad()) + "}");
  const auto progress = std::make_shared<serving::LoadProgress>();
  status.SetLoading(progress, 1000);
  EXPECT_EQ(status.state(), WorkerState::kLoading);
  const auto stage = [&] { return ToText(*status.MakeHeartbeat().progress); };
  EXPECT_EQ(stage(), R"({"stage":"device","fraction":0E0,"bytes":0,"all_bytes":1000})");
  progress->Try("cpu", "native", *model::ModelSource::Open(INFERFLUX_TINY_MODEL));
  progress->Report(0.25);
  EXPECT_EQ(stage(), R"({"stage":"weights","fraction":2.5E-1,"bytes":250,"all_bytes":1000})");
  progress->Report(1);
  EXPECT_EQ(stage(), R"({"stage":"warm-up","fraction":1E0,"bytes":1000,"all_bytes":1000})");
  EXPECT_EQ(ToText(status.MakeDeregistration()),
            R"({"worker_id":"w-1","code":"CANCELLED","reason":"it was asked to stop"})");
  EXPECT_EQ(status.Info().error, "");
  status.SetFailed(WorkerErrorCode::kModelLoadFailed, "no such file");
  const WorkerInfo info = status.Info();
  EXPECT_EQ(info.state, WorkerState::kFailed);
  EXPECT_EQ(info.error, "no such file");
  EXPECT_EQ(info.worker_id, "w-1");
  EXPECT_EQ(info.version, kVersion);
  EXPECT_EQ(info.model, "/m.gguf");
  EXPECT_EQ(info.architecture, "");
  EXPECT_FALSE(info.progress);
  EXPECT_FALSE(info.engine);
  EXPECT_GE(info.uptime_seconds, 0);
  EXPECT_LT(info.uptime_seconds, 60);
  EXPECT_EQ(ToText(status.MakeDeregistration()),
            R"({"worker_id":"w-1","code":"MODEL_LOAD_FAILED","reason":"no such file"})");
  status.SetDraining();
  EXPECT_EQ(status.state(), WorkerState::kFailed) << "why it ends stays known";
}

// A scheduler that only says what it does.
class Telling final : public scheduler::GenerationService {
 public:
  Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest) override {
    return Fail(ErrorCode::kUnavailable, "nothing runs here");
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {.queued = queued, .running = 3, .kv_blocks_free = 4}; }

  std::atomic<int32_t> queued{0};
};

std::shared_ptr<serving::ServedModel> ModelOn(const std::string& backend, std::shared_ptr<Telling> scheduler) {
  auto out = std::make_shared<serving::ServedModel>();
  out->scheduler = std::move(scheduler);
  out->info.architecture = "llama";
  out->info.quantization = "Q4_K";
  out->engine.backend = backend;
  out->engine.provider = "native";
  out->engine.memory = {{.device = "a", .weight_bytes = 100, .kv_bytes = 20},
                        {.device = "b", .weight_bytes = 3, .kv_bytes = 4000}};
  out->engine.capabilities = {};
  out->engine.capabilities.generation = true;
  out->engine.capabilities.logprobs = true;
  return out;
}

TEST(WorkerStatus, OfAModelThatServes) {
  const auto scheduler = std::make_shared<Telling>();
  const std::vector<std::pair<const char*, MemoryArchitecture>> cases = {
      {"cpu", MemoryArchitecture::kHost},        {"cuda", MemoryArchitecture::kDiscrete},
      {"vulkan", MemoryArchitecture::kDiscrete}, {"mps", MemoryArchitecture::kUnified},
      {"mlx", MemoryArchitecture::kUnified},     {"unknown", MemoryArchitecture::kHost}};
  for (const auto& [backend, memory] : cases) {
    WorkerStatus status("w-1", "/m.gguf");
    EXPECT_EQ(status.model(), nullptr);
    status.SetLoading(std::make_shared<serving::LoadProgress>(), 10);
    const auto model = ModelOn(backend, scheduler);
    status.SetServing(model);
    EXPECT_EQ(status.state(), WorkerState::kReady);
    EXPECT_EQ(status.model(), model);
    const WorkerInfo info = status.Info();
    EXPECT_EQ(info.architecture, "llama");
    EXPECT_EQ(info.quantization, "Q4_K");
    EXPECT_EQ(info.memory_architecture, memory) << backend;
    EXPECT_EQ(info.memory_bytes, 4123);
    EXPECT_EQ(info.engine->backend, backend);
    EXPECT_FALSE(info.progress);
    EXPECT_EQ(info.load.running, 3);
    EXPECT_EQ(status.MakeHeartbeat().load.kv_blocks_free, 4);
    scheduler->queued = 1;
    EXPECT_EQ(status.state(), WorkerState::kBusy);
    scheduler->queued = 0;
    const ReadyCallback ready = status.MakeReady();
    EXPECT_EQ(ToText(ready), R"({"worker_id":"w-1","model_ref":"/m.gguf","backend":")" + std::string(backend) +
                                 R"(/native","uri":"","memory_bytes":4123,"memory_architecture":")" +
                                 std::string(WordOf(memory)) +
                                 R"(","capabilities":["generation","logprobs"],"version":")" + kVersion + "\"}");
    status.SetDraining();
    EXPECT_EQ(status.state(), WorkerState::kDraining);
    EXPECT_EQ(status.Info().error, "");
    status.SetServing(model);
    EXPECT_EQ(status.state(), WorkerState::kDraining) << "it does not come back";
  }
}

TEST(WorkerStatus, AChangeEndsAWait) {
  WorkerStatus status("w-1", "/m.gguf");
  uint64_t seen = 0;
  status.AwaitChange(0ms, seen);
  EXPECT_EQ(seen, 0u);
  const auto changes = [&](auto change) {
    const uint64_t before = seen;
    std::thread other([&] {
      std::this_thread::sleep_for(20ms);
      change();
    });
    const auto began = std::chrono::steady_clock::now();
    status.AwaitChange(20s, seen);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
    EXPECT_NE(seen, before);
    other.join();
  };
  changes([&] { status.SetListening("u"); });
  changes([&] { status.SetLoading(nullptr, 1); });
  changes([&] { status.SetServing(ModelOn("cpu", std::make_shared<Telling>())); });
  changes([&] { status.SetFailed(WorkerErrorCode::kInternal, ""); });
  changes([&] { status.SetDraining(); });
}

}  // namespace
}  // namespace inferflux::worker
