// Settings of one call: unset ones come from the predictor, then from the adapter, then from the model.
#pragma once

#include <chrono>
#include <optional>

#include "dspy/lm/lm.h"

namespace inferflux::dspy {

enum class Constrain : uint8_t {
  kAuto,  // where the model honours constraints and the signature has one
  kOn,    // an error where it cannot be done
  kOff,
};

struct CallSettings {
  Sampling sampling;
  std::optional<int> retries;  // further attempts after a transient error or an answer that does not parse
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<Constrain> constrain;
};

// `first` where it is set, else `second`. Stop strings are of the first that has any.
CallSettings Merge(const CallSettings& first, const CallSettings& second);

// kInvalidConfig names the setting, its value and its range.
Status Check(const CallSettings& settings);

}  // namespace inferflux::dspy
