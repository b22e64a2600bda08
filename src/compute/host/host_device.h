// The host as a device, for the backends that compute on it.
#pragma once

#include <chrono>

#include "base/host_memory.h"
#include "compute/device.h"

namespace inferflux::compute::host {

inline MemoryInfo MemoryOf(int64_t weight_bytes) {
  const HostMemory memory = ReadHostMemory();
  return {.total = memory.total, .free = memory.free, .weight_bytes = weight_bytes, .unified = true};
}

inline Device HostDevice(std::string name) {
  return {.name = std::move(name), .free_bytes = ReadHostMemory().free, .id = "cpu"};
}

// Work on the host has finished when its call returns, so the host's clock is the device's.
using TimeMark = std::chrono::steady_clock::time_point;

inline double Seconds(TimeMark from, TimeMark to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace inferflux::compute::host
