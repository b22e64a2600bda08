// The memory of this machine, as this process may use it.
#pragma once

#include <cstdint>

namespace inferflux {

// Bytes. `free` is what can be allocated without swapping. Both respect the limits of the process's control group.
struct HostMemory {
  int64_t total = 0;
  int64_t free = 0;
};

HostMemory ReadHostMemory();

}  // namespace inferflux
