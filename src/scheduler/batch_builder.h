// Decides what the next step runs: decodes first, then prefill in order of rank, then newcomers, within a budget of
// tokens. Where KV is short it preempts: the lowest in rank loses its KV, waits, and is computed again later.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/inference_backend.h"
#include "scheduler/step_cost.h"
#include "scheduler/workload.h"

namespace inferflux::scheduler {

struct StepBatch {
  engine::UnifiedBatch batch;
  std::vector<Request*> requests;                  // [item]: whose it is
  std::vector<std::pair<Request*, Error>> failed;  // can never run: to be ended
  int32_t preempted = 0;                           // requests that lost their KV to make room
};

class BatchBuilder {
 public:
  // `end_tokens` are what ends a generation: banned under ignore_eos. `engine` and `cost` must outlive the builder.
  BatchBuilder(engine::InferenceBackend& engine, const StepPolicy& policy, const StepCost& cost,
               std::vector<TokenId> end_tokens);

  StepBatch Build(Workload& load, TimePoint now);

 private:
  struct Draft {
    Workload& load;
    StepBatch step;
    int32_t budget;
    bool crowded = false;  // somebody had to give way to a decode: no time for newcomers
  };

  void AddDecodes(Draft& draft);
  int32_t PrefillBudget(int32_t decoding, int32_t left) const;
  std::vector<TokenId> Guess(Request& request, int32_t decoding, int32_t spare);
  void AddPrefills(Draft& draft);
  void Admit(Draft& draft, TimePoint now);
  void Add(Draft& draft, Request& request, int32_t count, const std::vector<TokenId>& guess = {});

  bool MakeRoom(Draft& draft, Request& request);
  Status OpenSequence(const Workload& load, Request& request);
  bool PreemptPaused(Draft& draft);
  void Preempt(Draft& draft, Request& request);
  bool SharesPrefix(const Request& request) const;
  bool AwaitsPrefix(const Workload& load, const Request& request) const;

  engine::InferenceBackend& engine_;
  const StepCost& cost_;
  StepGoal goal_;
  int32_t max_draft_tokens_;
  int32_t max_batch_tokens_;
  int32_t max_running_;
  std::vector<TokenId> end_tokens_;
};

}  // namespace inferflux::scheduler
