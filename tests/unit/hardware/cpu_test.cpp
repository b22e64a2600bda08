#include "hardware/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
#if defined(__x86_64__)
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_NE(cpu.name.front(), ' ');
  EXPECT_NE(cpu.name.back(), ' ');
#endif
}

}  // namespace
}  // namespace inferflux::hardware
