// Waiting for a number in shared memory: for some time without a system call, then asleep.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/result.h"
#include "collective/shared_memory/segment.h"

namespace inferflux::collective {

// Whether `value` is at or behind `target` in the order of counting, which wraps around.
inline bool Reached(uint32_t value, uint32_t target) { return static_cast<int32_t>(value - target) >= 0; }

// Returns once the counter has reached `target`. Calls `check` from time to time, and returns its error.
Status WaitFor(SharedCounter& counter, uint32_t target, FunctionRef<Status()> check);

// Stores the value and wakes those that wait.
void Publish(SharedCounter& counter, uint32_t value);
void WakeAll(SharedCounter& counter);

}  // namespace inferflux::collective
