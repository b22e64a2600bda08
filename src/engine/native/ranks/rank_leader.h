// Rank 0's side of a shared model. A rank that fails in the middle of a step leaves the others in it, so a failure
// after the step's announcement is the end of the model.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "collective/collective.h"
#include "engine/native/ranks/rank_step.h"

namespace inferflux::engine {

class RankLeader {
 public:
  // Null or one rank: nothing is announced, and nothing can be lost.
  RankLeader(std::shared_ptr<collective::Collective> ranks, std::function<void(const Error&)> on_lost)
      : ranks_(std::move(ranks)), on_lost_(std::move(on_lost)) {}
  ~RankLeader();  // ends the others' loops

  bool leads() const { return ranks_ != nullptr && ranks_->size() > 1; }

  // Runs `step`, which may announce, and returns its result. If it fails after an announcement, the model is lost.
  template <class F>
  auto Guard(F step) -> decltype(step()) {
    announced_ = false;
    auto result = step();
    if (!result && announced_) Lose(result.error());
    return result;
  }
  // The same for the end of a step that was announced before.
  template <class F>
  auto GuardEnd(F end) -> decltype(end()) {
    auto result = end();
    if (!result && leads()) Lose(result.error());
    return result;
  }
  // Inside Guard, before this rank does the same.
  Status Announce(const RankStep& step);

 private:
  void Lose(const Error& why);

  std::shared_ptr<collective::Collective> ranks_;
  std::function<void(const Error&)> on_lost_;
  bool announced_ = false;
};

}  // namespace inferflux::engine
