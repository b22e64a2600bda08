// Drafts with a smaller model of the same vocabulary (speculative decoding: Leviathan et al., arXiv:2211.17192; Chen et
// al., arXiv:2302.01318). It draws with the request's own parameters, seed and draw numbers: where its distribution is
// close to the model's, the same random number selects the same token.
//
// The draft model's KV is optional: a sequence without room gets no draft tokens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "scheduler/queue/request.h"
#include "scheduler/step_cost.h"

namespace inferflux::scheduler {

struct DraftTask {
  Request* request = nullptr;
  int32_t count = 0;                // tokens wanted
  std::vector<TokenId> draft = {};  // the draft tokens
  std::optional<float> mirostat_mu = {};
  std::optional<text::OutputMatcher> matcher = {};  // after the draft tokens
  std::shared_ptr<const TokenMask> mask = {};       // the tokens that may follow
};

class DraftModel {
 public:
  // `banned` applies under ignore_eos. `clock` must outlive the model.
  DraftModel(std::unique_ptr<engine::Engine> engine, std::vector<TokenId> end_tokens,
             const std::function<TimePoint()>& clock);

  // Drafts for all tasks at once, one token of each in a step. It first reads text that it has not read yet, in pieces.
  // Until it has caught up, a task yields nothing.
  void Draft(std::span<DraftTask> tasks);

  // The request has ended, or has lost its KV.
  void Forget(const Request& request);

  // Seconds to draft one token for each of that many sequences.
  double Seconds(int32_t sequences) const { return cost_.Seconds(sequences); }

  const engine::EngineInfo& info() const { return engine_->info(); }

 private:
  struct Reader {
    engine::SequenceId sequence;
    std::vector<TokenId> fed;  // the tokens with KV
  };

  Reader* Open(const Request& request);
  bool CatchUp(DraftTask& task, Reader& reader);
  engine::BatchItem NextItem(const DraftTask& task, const Reader& reader) const;
  static bool Mask(DraftTask& task);
  bool Run(engine::UnifiedBatch batch, std::span<DraftTask*> tasks);

  std::unique_ptr<engine::Engine> engine_;
  std::vector<TokenId> end_tokens_;
  const std::function<TimePoint()>& clock_;
  StepCost cost_;
  std::unordered_map<uint64_t, Reader> readers_;  // by the request's number
};

}  // namespace inferflux::scheduler
