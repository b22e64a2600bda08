// The time that a step takes on its device.
#pragma once

#include <optional>

#include "compute/device_features.h"

namespace inferflux::engine {

// For backends without a clock: reports nothing.
template <compute::Backend B>
class StepTimer {
 public:
  StepTimer(typename B::Context&, bool) {}
  void Stop() {}
  std::optional<double> Seconds() const { return std::nullopt; }
};

// Starts on construction, and stops after the work that was given to the device until Stop. Reading the time waits for
// that, so it is done only if requested.
template <compute::DeviceTimer B>
class StepTimer<B> {
 public:
  StepTimer(typename B::Context& context, bool on) : context_(&context) {
    if (on) began_ = B::MarkTime(context);
  }
  void Stop() {
    if (began_) ended_ = B::MarkTime(*context_);
  }
  std::optional<double> Seconds() const {
    if (!ended_) return std::nullopt;
    return B::SecondsBetween(*began_, *ended_);
  }

 private:
  typename B::Context* context_;
  std::optional<typename B::TimeMark> began_, ended_;
};

}  // namespace inferflux::engine
