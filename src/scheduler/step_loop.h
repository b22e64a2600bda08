// The Scheduler: a thread that loads an engine, warms it up, and steps it for as long as there are requests.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/inference_backend.h"
#include "metrics/model_metrics.h"
#include "scheduler/scheduler.h"
#include "scheduler/step_core.h"
#include "scheduler/wakeup.h"
#include "scheduler/workload.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::scheduler {

struct StepLoopOptions {
  StepPolicy policy;
  int32_t max_queued = 1024;     // requests that wait for admission; more are refused
  // Of the warm-up's prefill; 0: none. Few, since a model is ready only after it: 512 took two thirds of the start.
  int32_t warm_up_tokens = 32;
};

// Called once, on the step loop's own thread, on which the engine then lives and dies.
using EngineFactory = std::function<Result<std::unique_ptr<engine::InferenceBackend>>()>;

// The metrics of an engine, once it is known which one it is.
using MetricsFactory = std::function<metrics::ModelMetrics(const engine::EngineInfo&)>;

class StepLoop final : public Scheduler {
 public:
  // Starts the thread. `metrics` may be empty: nothing is counted.
  StepLoop(EngineFactory factory, std::shared_ptr<const text::Tokenizer> tokenizer, StepLoopOptions options,
           MetricsFactory metrics = {});
  ~StepLoop() override;

  // Set once the engine has been loaded and has run a step, or has failed to.
  std::shared_future<Status> ready() const { return ready_; }

  // Only after ready() has said success.
  const engine::EngineInfo& engine_info() const { return info_; }

  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override;
  SchedulerStats stats() const override;

  void Stop() override;

 private:
  enum class State { kLoading, kServing, kFailed, kStopping };

  void Main(std::promise<Status> ready);
  Result<std::unique_ptr<engine::InferenceBackend>> Load();
  void Serve(engine::InferenceBackend& engine);
  bool TakeSubmitted(StepCore& core);

  EngineFactory factory_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  StepLoopOptions options_;
  MetricsFactory make_metrics_;
  engine::EngineInfo info_;
  std::shared_future<Status> ready_;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();

  mutable std::mutex mutex_;  // all that follows
  State state_ = State::kLoading;
  std::vector<RequestPtr> submitted_;
  uint64_t next_number_ = 0;
  SchedulerStats stats_;

  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace inferflux::scheduler
