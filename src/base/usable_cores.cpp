#include "base/usable_cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

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

// Quota divided by period, in cores. Empty if the files are absent or set no limit ("max", or -1 in v1).
std::optional<double> QuotaOf(const std::string& folder) {
  double period = 0.0;
  double quota = 0.0;
  if (std::ifstream both(folder + "/cpu.max"); both) {
    std::string first;
    if (!(both >> first >> period) || first == "max") return std::nullopt;
    quota = std::strtod(first.c_str(), nullptr);
  } else {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  }
  if (quota <= 0.0 || period <= 0.0) return std::nullopt;
  return quota / period;
}

// The smallest quota from this process's cgroup up to the root: the limit of a parent applies to its children.
std::optional<double> TightestQuota() {
  std::optional<double> out;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (const auto quota = QuotaOf(root + path); quota) out = std::min(out.value_or(*quota), *quota);
      if (path.empty() || path.find('/') == std::string::npos) break;
    }
  }
  return out;
}

}  // namespace

int UsableCores() {
  const int cores = AffinityCores();
  const auto quota = TightestQuota();
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

}  // namespace inferflux
