#include "base/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace inferflux {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number after `key`, or the first number of the file if the key is empty.
int64_t ReadNumber(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && file >> word && word != key) continue;
  int64_t number = 0;
  return file >> number ? number : kUnknown;
}

int64_t ReadKib(const std::string& key) {
  const int64_t kib = ReadNumber("/proc/meminfo", key);
  return kib > kUnknown / 1024 ? kUnknown : kib * 1024;
}

}  // namespace

HostMemory ReadHostMemory() {
  const int64_t limit = ReadNumber("/sys/fs/cgroup/memory.max", "");  // "max" if there is no limit
  const int64_t used = ReadNumber("/sys/fs/cgroup/memory.current", "");
  const int64_t room = limit == kUnknown || used == kUnknown ? kUnknown : std::max<int64_t>(0, limit - used);
  return {.total = std::min(ReadKib("MemTotal:"), limit), .free = std::min(ReadKib("MemAvailable:"), room)};
}

}  // namespace inferflux
