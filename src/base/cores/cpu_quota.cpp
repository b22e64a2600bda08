#include "base/cores/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

namespace inferflux {
namespace {

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

}  // namespace

// The limit of a parent applies to its children.
std::optional<double> CpuQuota(const std::string& root) {
  std::optional<double> out;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string mounted = root + (unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (const auto quota = QuotaOf(mounted + path); quota) out = std::min(out.value_or(*quota), *quota);
      if (path.empty() || path.find('/') == std::string::npos) break;
    }
  }
  return out;
}

int CoresWithin(std::optional<double> quota, int cores) {
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

}  // namespace inferflux
