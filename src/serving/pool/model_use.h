// Counts the users of a loaded model, and knows since when it has none. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "scheduler/wakeup.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

class ModelUse {
 public:
  using Clock = std::chrono::steady_clock;

  // `idle` is woken when the last user leaves. It may be null.
  explicit ModelUse(std::shared_ptr<scheduler::Wakeup> idle) : idle_(std::move(idle)) {}

  // A pointer whose copies are together one user, until the last one is gone. It may outlive the pool.
  static std::shared_ptr<const ServedModel> Lend(std::shared_ptr<ModelUse> use,
                                                 std::shared_ptr<const ServedModel> model);

  int users() const;
  // When the last user left, or when the model was loaded.
  Clock::time_point idle_since() const;
  // When it was lent last, or when the model was loaded.
  Clock::time_point last_lent() const;
  // Whether there was no user before `until`.
  bool WaitForNone(Clock::time_point until) const;

 private:
  void Enter();
  void Leave();

  std::shared_ptr<scheduler::Wakeup> idle_;
  mutable std::mutex mutex_;
  mutable std::condition_variable none_;
  int users_ = 0;
  Clock::time_point idle_since_ = Clock::now();
  Clock::time_point last_lent_ = Clock::now();
};

}  // namespace inferflux::serving
