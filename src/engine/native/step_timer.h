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
  std::optional<double> Seconds() const { return std::nullopt; }
};

// Starts on construction. Reading the time waits for the device, so it is done only if requested.
template <compute::DeviceTimer B>
class StepTimer<B> {
 public:
  StepTimer(typename B::Context& context, bool on) : context_(context) {
    if (on) began_ = B::MarkTime(context);
  }
  std::optional<double> Seconds() const {
    if (!began_) return std::nullopt;
    return B::SecondsBetween(*began_, B::MarkTime(context_));
  }

 private:
  typename B::Context& context_;
  std::optional<typename B::TimeMark> began_;
};

}  // namespace inferflux::engine
