#include "base/host_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

namespace inferflux {
namespace {

#if defined(__linux__)
int64_t BytesInMeminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    long long kib = 0;
    if (line.starts_with(name) && std::sscanf(line.c_str() + name.size(), ": %lld kB", &kib) == 1) return kib * 1024;
  }
  return -1;
}

TEST(HostMemory, IsWhatTheKernelTellsWithinTheLimitOfTheGroup) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  if (int64_t number = 0; std::ifstream("/sys/fs/cgroup/memory.max") >> number) limit = number;
  const HostMemory memory = ReadHostMemory();
  EXPECT_EQ(memory.total, std::min(BytesInMeminfo("MemTotal"), limit));
  EXPECT_GE(memory.free, 0);
  EXPECT_LE(memory.free, memory.total);
  if (limit < BytesInMeminfo("MemTotal")) GTEST_SKIP() << "what is free is that of the group";
  const auto slack = static_cast<double>(memory.total / 4);  // other programs come and go
  EXPECT_NEAR(static_cast<double>(memory.free), static_cast<double>(BytesInMeminfo("MemAvailable")), slack);
}
#endif

}  // namespace
}  // namespace inferflux
