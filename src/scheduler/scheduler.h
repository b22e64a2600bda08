// The scheduler of one model, without its thread: takes requests, steps the engine, and feeds the streams.
// Single-threaded.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "metrics/model_metrics.h"
#include "scheduler/batch_builder.h"
#include "scheduler/generation_service.h"
#include "scheduler/queue/service_rate.h"
#include "scheduler/queue/workload.h"
#include "scheduler/sessions/sessions.h"
#include "scheduler/speculation/draft_model.h"
#include "scheduler/step_cost.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::scheduler {

// What a scheduler may have besides its engine.
struct SchedulerExtras {
  std::unique_ptr<engine::Engine> draft = nullptr;  // must have the engine's vocabulary
  int64_t session_memory = 0;                       // bytes of host memory for KV of sessions
  std::optional<SessionFiles> session_files = {};
};

class Scheduler {
 public:
  using Clock = std::function<TimePoint()>;

  // `engine` must outlive the scheduler.
  Scheduler(engine::Engine& engine, std::shared_ptr<const text::Tokenizer> tokenizer, const StepPolicy& policy,
            metrics::ModelMetrics metrics, Clock clock, SchedulerExtras extras = {});

  // The request must have been checked (admission.h).
  void Submit(RequestPtr request);

  // Ends cancelled and late requests, and runs one step. Returns false if there was nothing to run. Then there will be
  // nothing until a request arrives, a client reads or cancels, or `next_deadline` of a request or session passes.
  bool Step();

  // Ends every request.
  void EndAll(FinishReason reason, const Error& error);

  Result<std::vector<SessionInfo>> Session(const SessionCommand& command);

  std::optional<TimePoint> next_deadline() const;
  SchedulerStats stats() const;

 private:
  void Sweep(TimePoint now);
  void Execute(StepBatch& step);
  void ExecuteAlone(const engine::BatchItem& item, Request& request);
  void Apply(Request& request, const engine::BatchItem& item, Result<const std::vector<engine::OutputResult>*> given);
  void ApplyHidden(Request& request, const engine::BatchItem& item, const std::vector<engine::OutputResult>& outputs);
  size_t TakePromptLogprobs(Request& request, const std::vector<engine::OutputResult>& outputs,
                            const engine::BatchItem& item);
  bool TakeToken(Request& request, const engine::OutputResult& sampled);
  void Emit(Request& request);
  StreamEvent TakeEvent(Request& request);
  void End(Request& request, FinishReason reason, Error error = {});
  void Publish();

  engine::Engine& engine_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  metrics::ModelMetrics metrics_;
  Clock clock_;
  Workload load_;
  StepCost cost_;
  Sessions sessions_;
  std::unique_ptr<DraftModel> drafts_;
  BatchBuilder builder_;
  ServiceRate rate_;
  int64_t preemptions_ = 0;
  int64_t drafted_ = 0;
  int64_t accepted_ = 0;
};

}  // namespace inferflux::scheduler
