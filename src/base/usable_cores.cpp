#include "base/usable_cores.h"

#include <algorithm>
#include <thread>

#include "base/cores/cpu_quota.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace inferflux {
namespace {

int AffinityCores() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

int UsableCores() { return CoresWithin(CpuQuota(), AffinityCores()); }

}  // namespace inferflux
