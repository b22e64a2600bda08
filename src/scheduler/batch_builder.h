// Decides what the next step runs: first decodes, then prompts, within a token budget. Of the prompts, those of the
// account that was served least come first, and of an account, those that run before those that wait. When KV memory or
// sequences are short, sessions leave the engine first. Then the builder preempts: a request of the account that holds
// the most loses its KV, waits, and is recomputed later (queue/holdings.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "scheduler/latency_budget.h"
#include "scheduler/queue/holdings.h"
#include "scheduler/queue/workload.h"
#include "scheduler/sessions/sessions.h"
#include "scheduler/speculation/draft_model.h"
#include "scheduler/step_cost.h"
#include "scheduler/step_sharing.h"

namespace inferflux::scheduler {

struct StepBatch {
  engine::UnifiedBatch batch;
  std::vector<Request*> requests;                  // [item]: the request of each item
  std::vector<std::pair<Request*, Error>> failed;  // can never run: to be ended
  int32_t decoding = 0;                            // the number of leading items that are decodes
  int32_t preempted = 0;                           // requests that lost their KV
  bool partial = false;                            // some accounts take no part (step_sharing.h)
};

class BatchBuilder {
 public:
  // `end_tokens` end a generation; they are banned under ignore_eos. `drafts` may be null. The arguments must outlive
  // the builder.
  BatchBuilder(engine::Engine& engine, Sessions& sessions, DraftModel* drafts, const StepPolicy& policy,
               const StepCost& cost, std::vector<TokenId> end_tokens);

  StepBatch Build(Workload& load, TimePoint now);
  // While `under_way` runs on a device: admits the requests that the next step has room for, and prepares their KV and
  // first masks for Build. Changes no request of `under_way` and preempts none. Returns how many were admitted.
  int32_t Prepare(Workload& load, const StepBatch& under_way, TimePoint now);
  // Reports the duration of a step that was built here.
  void Observe(const StepBatch& step, double seconds);

 private:
  struct PendingStep {
    Workload& load;
    StepBatch step;
    int32_t budget = 0;                  // rows left
    bool crowded = false;                // a decode caused a preemption: admit no new requests
    std::set<std::string> sit_out = {};  // accounts that take no part

    bool TakesPart(const Request& request) const { return sit_out.empty() || !sit_out.contains(request.spec.account); }
  };

  void Fill(PendingStep& pending, TimePoint now);

  void AddDecodes(PendingStep& pending);
  int32_t StepTokens(int32_t decoding) const;
  int32_t PrefillBudget(int32_t decoding, int32_t left, TimePoint now) const;
  int32_t DraftLength(Request& request, const Speculation& speculation, int32_t decoding, int32_t spare,
                      bool expected) const;
  std::vector<DraftTask> DraftTokens(const std::vector<Request*>& decoding, int32_t spare);
  void AddPrompts(PendingStep& pending, TimePoint now);
  Request* NextWaiting(const PendingStep& pending, TimePoint now, const StepBatch* under_way = nullptr) const;
  int32_t PromptRowsAfter(const Workload& load, const StepBatch& under_way, TimePoint now) const;
  int32_t PrefillLength(const Request& request, int32_t budget) const;
  void AskPromptLogprobs(const Request& request, int32_t count, engine::BatchItem& item) const;
  bool Admit(PendingStep& pending, Request& next, TimePoint now);
  bool OpenWithRoom(PendingStep& pending, Request& next, TimePoint now);
  void Add(PendingStep& pending, Request& request, int32_t count, std::vector<TokenId> draft = {});

  bool MakeRoom(PendingStep& pending, Request& request);
  std::span<const TokenId> KnownTokens(const Request& request) const;
  Status OpenSequence(const Workload& load, Request& request, TimePoint now);
  bool PreemptPaused(PendingStep& pending);
  bool PreemptFor(PendingStep& pending, const Request& waiting, Shortage shortage);
  void Withdraw(PendingStep& pending, const Request& request) const;
  void Preempt(PendingStep& pending, Request& request);
  bool SharesPrefix(const Request& request) const;
  bool AwaitsPrefix(const Workload& load, const Request& request) const;
  bool SharesWith(const StepBatch& under_way, const Request& request) const;

  engine::Engine& engine_;
  Sessions& sessions_;
  DraftModel* drafts_;
  const StepCost& cost_;
  StepGoal goal_;
  LatencyBudget latency_budget_;
  StepSharing sharing_;
  Speculation speculation_;
  int32_t step_tokens_;
  bool step_tokens_are_set_;  // by the policy, or else the engine's best step size
  int32_t max_running_;
  std::vector<TokenId> end_tokens_;
};

}  // namespace inferflux::scheduler
