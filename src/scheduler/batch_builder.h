// Decides what the next step runs: decodes first, then prefill in order of rank, then newcomers, within a budget of
// tokens. Where KV is short, sessions leave the engine first; then it preempts: the lowest in rank loses its KV, waits,
// and is computed again later.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "scheduler/latency_budget.h"
#include "scheduler/queue/workload.h"
#include "scheduler/sessions/sessions.h"
#include "scheduler/speculation/draft_model.h"
#include "scheduler/step_cost.h"

namespace inferflux::scheduler {

struct StepBatch {
  engine::UnifiedBatch batch;
  std::vector<Request*> requests;                  // [item]: whose it is
  std::vector<std::pair<Request*, Error>> failed;  // can never run: to be ended
  int32_t decoding = 0;                            // the first so many items are decodes
  int32_t preempted = 0;                           // requests that lost their KV to make room
};

class BatchBuilder {
 public:
  // `end_tokens` are what ends a generation: banned under ignore_eos. `drafts` may be null. What is lent must outlive
  // the builder.
  BatchBuilder(engine::Engine& engine, Sessions& sessions, DraftModel* drafts, const StepPolicy& policy,
               const StepCost& cost, std::vector<TokenId> end_tokens);

  StepBatch Build(Workload& load, TimePoint now);
  // What a step took that was built here.
  void Observe(const StepBatch& step, double seconds);

 private:
  struct PendingStep {
    Workload& load;
    StepBatch step;
    int32_t budget = 0;    // rows that are left
    bool crowded = false;  // somebody had to give way to a decode: no time for newcomers
  };

  void AddDecodes(PendingStep& pending);
  int32_t StepTokens(int32_t decoding) const;
  int32_t PrefillBudget(int32_t decoding, int32_t left) const;
  int32_t DraftLength(Request& request, const Speculation& speculation, int32_t decoding, int32_t spare) const;
  std::vector<DraftTask> DraftTokens(const std::vector<Request*>& decoding, int32_t spare);
  void AddPrefills(PendingStep& pending);
  int32_t PrefillLength(const Request& request, int32_t budget) const;
  void AskPromptLogprobs(const Request& request, int32_t count, engine::BatchItem& item) const;
  void Admit(PendingStep& pending, TimePoint now);
  void Add(PendingStep& pending, Request& request, int32_t count, std::vector<TokenId> draft = {});

  bool MakeRoom(PendingStep& pending, Request& request);
  Status OpenSequence(const Workload& load, Request& request, TimePoint now);
  bool PreemptPaused(PendingStep& pending);
  void Preempt(PendingStep& pending, Request& request);
  bool SharesPrefix(const Request& request) const;
  bool AwaitsPrefix(const Workload& load, const Request& request) const;

  engine::Engine& engine_;
  Sessions& sessions_;
  DraftModel* drafts_;
  const StepCost& cost_;
  StepGoal goal_;
  LatencyBudget latency_budget_;
  Speculation speculation_;
  int32_t step_tokens_;
  bool step_tokens_are_set_;  // by the policy; otherwise they are what the engine does best
  int32_t max_running_;
  std::vector<TokenId> end_tokens_;
};

}  // namespace inferflux::scheduler
