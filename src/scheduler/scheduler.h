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
#include "scheduler/queue/account_load.h"
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
  std::unique_ptr<SessionFiles> session_files = nullptr;
  std::unique_ptr<SharedSessions> shared_sessions = nullptr;
  std::vector<std::string> model_files = {};  // files or folders whose loss ends the model
  uint64_t file_faults = 0;                   // FileFaults() before they were opened
  RequestHistory* history = nullptr;          // takes what ended; must outlive the scheduler
  // Called in each step before the engine runs: what the step admitted waits no longer.
  std::function<void()> on_admitted = {};
  // Called while a step runs on a device, before the next one is prepared: may submit what has come since.
  std::function<void()> on_under_way = {};
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
  // nothing until a request arrives, a client reads or cancels, the disk has done something for a session, or
  // `next_deadline` of a request or session passes.
  bool Step();
  // When there is nothing to run: a piece of work that later steps would do. False: there is none left.
  bool PrepareAhead() { return engine_.PrepareAhead(); }

  // Ends the requests that wait and have no token yet. One that was preempted stays: its client reads already.
  void EndWaiting(const Error& error);

  // Ends every request.
  void EndAll(FinishReason reason, const Error& error);

  // Replies at once, or in a later step, after the disk has done something.
  void Session(const SessionCommand& command, SessionReply reply);

  std::optional<TimePoint> next_deadline() const;
  SchedulerStats stats() const;
  AccountLoads account_loads() const;

 private:
  void Sweep(TimePoint now);
  bool LostFile();
  Result<engine::StepResult> Run(const StepBatch& step);
  void Execute(StepBatch& step);
  void Record(Request& request, const engine::BatchItem& item, TimePoint began, TimePoint ended);
  void ExecuteAlone(const engine::BatchItem& item, Request& request);
  void Apply(Request& request, const engine::BatchItem& item, Result<const std::vector<engine::OutputResult>*> given);
  void ApplyHidden(Request& request, const engine::BatchItem& item, const std::vector<engine::OutputResult>& outputs);
  void ApplyNextTokens(Request& request, const engine::BatchItem& item,
                       const std::vector<engine::OutputResult>& outputs);
  size_t TakePromptLogprobs(Request& request, const std::vector<engine::OutputResult>& outputs,
                            const engine::BatchItem& item);
  bool TakeToken(Request& request, const engine::OutputResult& sampled);
  void Charge(Request& request);
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
  RequestHistory* history_;
  const std::function<void()> on_admitted_;
  const std::function<void()> on_under_way_;
  const std::vector<std::string> model_files_;
  const uint64_t file_faults_;
  uint64_t seen_faults_;
  std::optional<Error> lost_file_;  // the model computes nothing more
  int64_t preemptions_ = 0;
  int64_t drafted_ = 0;
  int64_t accepted_ = 0;
  engine::GraphUsage published_graphs_;  // what the metrics count already
};

}  // namespace inferflux::scheduler
