// The CPU time that a Linux control group leaves to this process.
#pragma once

#include <optional>
#include <string>

namespace inferflux {

// In cores, from the files of cgroup v1 or v2 (cgroups(7)): the smallest quota from this process's group up to the
// root. Empty without a quota. `root`: the folder that has proc/ and sys/; empty: this machine's.
std::optional<double> CpuQuota(const std::string& root = "");

// As many of the cores as a quota of CpuQuota can keep busy. A fraction of a core counts as one. At least 1.
int CoresWithin(std::optional<double> quota, int cores);

}  // namespace inferflux
