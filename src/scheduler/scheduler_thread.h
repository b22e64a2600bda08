// The GenerationService: a thread that loads an engine, warms it up, and steps it as long as there are requests.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_faults/file_faults.h"
#include "engine/engine.h"
#include "metrics/model_metrics.h"
#include "scheduler/generation_service.h"
#include "scheduler/queue/workload.h"
#include "scheduler/scheduler.h"
#include "scheduler/wakeup.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::scheduler {

// Called once, on the scheduler thread, on which the engine then lives until it is destroyed. It stops early, with
// kCancelled, when the token requests it.
using EngineFactory = std::function<Result<std::unique_ptr<engine::Engine>>(std::stop_token)>;

// Where the KV of sessions is stored when the engine has no room for it.
struct SessionOptions {
  int64_t memory_bytes = 0;
  std::string directory;  // empty: nothing goes to disk
  int64_t disk_bytes = 0;
  std::string store_url, store_key_file;          // as configured
  std::shared_ptr<SessionStore> store = nullptr;  // that machines share, by these; null: none
  uint64_t model = 0;                             // fingerprint of the weights: KV of other models is never used
};

struct SchedulerOptions {
  StepPolicy policy;
  EngineFactory draft;  // a smaller model with the same tokens, for speculative decoding; empty: none
  SessionOptions sessions;
  std::vector<std::string> model_files;  // files or folders whose loss ends the model
  int32_t max_queued = 1024;             // requests that may wait for admission; further ones are refused
  // Tokens of the warm-up's prefill; 0: none. Keep it small, because a model is ready only after it: 512 took two
  // thirds of the start.
  int32_t warm_up_tokens = 32;
};

// The metrics for an engine, once the engine is known.
using MetricsFactory = std::function<metrics::ModelMetrics(const engine::EngineInfo&)>;

class SchedulerThread final : public GenerationService {
 public:
  // Starts the thread. `metrics` may be empty: nothing is counted.
  SchedulerThread(EngineFactory factory, std::shared_ptr<const text::Tokenizer> tokenizer, SchedulerOptions options,
                  MetricsFactory metrics = {});
  ~SchedulerThread() override;

  // Set once the engine has loaded and run a step, or has failed to do so.
  std::shared_future<Status> ready() const { return ready_; }

  // Call only after ready() has reported success.
  const engine::EngineInfo& engine_info() const { return info_; }

  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override;
  void Session(SessionCommand command, SessionReply reply) override;
  SchedulerStats stats() const override;
  void Drain(bool running) override;
  const RequestHistory* history() const override { return &history_; }
  int32_t RetryAfter(const std::string& account) const override;

  // Cancels a load in progress, ends every request with kCancelled, unloads the engine and ends the thread. Any thread,
  // any number of times.
  void Stop() override;

 private:
  enum class State { kLoading, kServing, kFailed, kStopping };
  enum class Drained { kNone, kWaiting, kAll };

  void Main(std::promise<Status> ready);
  struct Engines {
    std::unique_ptr<engine::Engine> target;
    std::unique_ptr<engine::Engine> draft;  // may be null
  };

  Result<Engines> Load();
  Result<std::unique_ptr<engine::Engine>> LoadOne(EngineFactory factory) const;
  std::unique_ptr<SharedSessions> OpenStore() const;
  void Serve(Engines engines);
  bool TakeSubmitted(Scheduler& core);
  void EndDrained(Scheduler& core);
  Status CheckQueue(const GenerationRequest& request) const;  // under the mutex
  void PublishLoad(const Scheduler& core);                    // under the mutex
  void RunCommands(Scheduler* core);

  EngineFactory factory_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  SchedulerOptions options_;
  MetricsFactory make_metrics_;
  engine::EngineInfo info_;
  std::unique_ptr<SessionFiles> session_files_;
  const uint64_t file_faults_ = FileFaults();  // before anything was opened
  std::shared_future<Status> ready_;
  RequestHistory history_;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();

  mutable std::mutex mutex_;  // guards everything below
  State state_ = State::kLoading;
  Drained drained_ = Drained::kNone;
  std::vector<RequestPtr> submitted_;
  std::vector<std::pair<SessionCommand, SessionReply>> commands_;
  uint64_t next_number_ = 0;
  SchedulerStats stats_;
  AccountLoads accounts_;

  std::stop_source stop_load_;
  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace inferflux::scheduler
