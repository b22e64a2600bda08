// The limits of one render: steps, live bytes and recursion depth. Every loop and every allocation of the engine goes
// through it, so a template can neither hang the server nor fill its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/jinja/value/error.h"

namespace inferflux::text::jinja {

class Meter {
 public:
  struct Limits {
    uint64_t max_steps;
    uint64_t max_bytes;
    int max_depth;
  };

  explicit Meter(const Limits& limits) : limits_(limits) {}
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Counts work: one step is roughly one evaluated node, one visited item, or 32 copied bytes.
  void Step(uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > limits_.max_steps) RaiseLimit("the template takes more than {} steps to render", limits_.max_steps);
    if (WorkBudget::Spent(static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX / 2)))) {
      RaiseLimit("the template was stopped: its request's time is over");
    }
  }

  // Refuses an allocation that would exceed the limit, before it happens.
  void CheckRoom(uint64_t bytes) const {
    if (bytes > limits_.max_bytes - bytes_) {
      RaiseLimit("the template needs more than {} bytes of memory to render", limits_.max_bytes);
    }
  }

  void Allocate(uint64_t bytes) {
    CheckRoom(bytes);
    bytes_ += bytes;
  }
  void Release(uint64_t bytes) { bytes_ -= bytes; }

  // One level of recursion during its lifetime.
  class Level {
   public:
    explicit Level(Meter& meter) : meter_(meter) {
      if (meter_.depth_ >= meter_.limits_.max_depth) {
        RaiseLimit("the template recurses deeper than {} levels", meter_.limits_.max_depth);
      }
      ++meter_.depth_;
    }
    ~Level() { --meter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Meter& meter_;
  };

 private:
  Limits limits_;
  uint64_t steps_ = 0;
  uint64_t bytes_ = 0;
  int depth_ = 0;
};

// The bytes that a value holds, returned when it is destroyed. Constants of the template are not metered: they have no
// meter.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(Meter* meter, uint64_t bytes) : meter_(meter), bytes_(bytes) {
    if (meter_ != nullptr) meter_->Allocate(bytes_);
  }
  MemoryCharge(MemoryCharge&& other) noexcept
      : meter_(std::exchange(other.meter_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(meter_, other.meter_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() {
    if (meter_ != nullptr) meter_->Release(bytes_);
  }

 private:
  Meter* meter_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace inferflux::text::jinja
