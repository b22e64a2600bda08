#include "hardware/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_features.h"
#include "base/host_memory.h"
#include "base/usable_cores.h"

namespace inferflux::hardware {
namespace {

TEST(Cpu, TellsWhatThisProcessMayUse) {
  const Cpu cpu = ReadCpu();
  EXPECT_EQ(cpu.usable_cores, UsableCores());
  EXPECT_GE(cpu.cores, cpu.usable_cores);
#if defined(__linux__)
  ASSERT_TRUE(cpu.total_bytes && cpu.free_bytes);
  EXPECT_GT(*cpu.free_bytes, 0);
  EXPECT_GE(*cpu.total_bytes, *cpu.free_bytes);
#endif
#if defined(__linux__)
  EXPECT_EQ(cpu.total_bytes, ReadHostMemory().total);
  EXPECT_EQ(cpu.cores, std::max<int>(cpu.usable_cores, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))));
#endif
#if defined(__x86_64__)
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_NE(cpu.name.front(), ' ');
  EXPECT_NE(cpu.name.back(), ' ');
#endif
}

TEST(Cpu, TellsTheInstructionSetsWithKernels) {
  const CpuFeatures& features = DetectCpuFeatures();
  std::vector<std::string_view> expected;
  if (features.avx2) expected.emplace_back("avx2");
  if (features.avx_vnni) expected.emplace_back("avx-vnni");
  if (features.avx512_vnni) expected.emplace_back("avx512-vnni");
  if (features.amx_int8 && features.amx_bf16) expected.emplace_back("amx");
  if (features.neon_dotprod) expected.emplace_back("neon");
  if (features.avx512_bf16) expected.emplace_back("avx512-bf16");
  EXPECT_EQ(ReadCpu().instruction_sets, expected);
}

#if defined(__x86_64__) && defined(__linux__)
TEST(Cpu, HasTheNameThatTheKernelLists) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    if (line.ends_with(": unknown")) break;
    EXPECT_EQ("model name\t: " + ReadCpu().name, line);
    return;
  }
  GTEST_SKIP() << "/proc/cpuinfo has no name";
}
#endif

}  // namespace
}  // namespace inferflux::hardware
