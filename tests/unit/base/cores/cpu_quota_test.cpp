// The CPU time that a cgroup leaves, on machines made of a few files.
#include "base/cores/cpu_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace inferflux {
namespace {

namespace fs = std::filesystem;

class CpuQuotaTest : public ::testing::Test {
 protected:
  // A machine whose files have these contents.
  std::string Machine(const std::map<std::string, std::string>& files) {
    fs::remove_all(root_);
    for (const auto& [name, content] : files) {
      fs::create_directories((root_ / name).parent_path());
      std::ofstream(root_ / name) << content;
    }
    return root_;
  }
  ~CpuQuotaTest() override { fs::remove_all(root_); }

  const fs::path root_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CpuQuotaTest, AQuotaOfVersion2IsTimeDividedByPeriod) {
  const auto quota = [&](const char* line) {
    return CpuQuota(Machine({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", line}}));
  };
  EXPECT_EQ(quota("150000 100000\n"), 1.5);
  EXPECT_EQ(quota("50000 100000\n"), 0.5);
  for (const char* none : {"max 100000\n", "0 100000\n", "100000 0\n", "100000\n", ""}) {
    EXPECT_EQ(quota(none), std::nullopt) << none;
  }
}

TEST_F(CpuQuotaTest, TheTightestGroupUpToTheRootDecides) {
  std::map<std::string, std::string> files{{"proc/self/cgroup", "0::/system/inferflux\n"},
                                           {"sys/fs/cgroup/system/inferflux/cpu.max", "300000 100000"}};
  EXPECT_EQ(CpuQuota(Machine(files)), 3.0);
  files["sys/fs/cgroup/system/cpu.max"] = "200000 100000";
  EXPECT_EQ(CpuQuota(Machine(files)), 2.0);
  files["sys/fs/cgroup/cpu.max"] = "100000 100000";
  EXPECT_EQ(CpuQuota(Machine(files)), 1.0);
  files["sys/fs/cgroup/system/inferflux/cpu.max"] = "50000 100000";
  EXPECT_EQ(CpuQuota(Machine(files)), 0.5);
  files["sys/fs/cgroup/other/cpu.max"] = "10000 100000";
  EXPECT_EQ(CpuQuota(Machine(files)), 0.5) << "another group's quota";
}

TEST_F(CpuQuotaTest, AGroupWithoutAPathHasNoQuota) {
  const std::string root = Machine({{"proc/self/cgroup", "0::group\n0::\n"}, {"sys/fs/cgroup/other/cpu.max", "1 2"}});
  EXPECT_EQ(CpuQuota(root), std::nullopt);
}

TEST_F(CpuQuotaTest, AQuotaOfVersion1IsThatOfTheCpuController) {
  const auto quota = [&](const char* groups, const char* time) {
    return CpuQuota(Machine({{"proc/self/cgroup", groups},
                             {"sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", time},
                             {"sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000"}}));
  };
  EXPECT_EQ(quota("5:memory:/box\n4:cpu,cpuacct:/box\n", "250000"), 2.5);
  EXPECT_EQ(quota("4:cpuacct,cpu:/box\n", "250000"), 2.5);
  EXPECT_EQ(quota("4:cpu:/box\n", "-1"), std::nullopt);
  EXPECT_EQ(quota("4:cpuset:/box\nno group\n", "250000"), std::nullopt) << "not the controller of CPU time";
}

TEST(CoresWithinTest, AFractionOfACoreCountsAsOneAndNoQuotaChangesNothing) {
  EXPECT_EQ(CoresWithin(0.01, 8), 1);
  EXPECT_EQ(CoresWithin(1.0, 8), 1);
  EXPECT_EQ(CoresWithin(1.1, 8), 2);
  EXPECT_EQ(CoresWithin(8.0, 8), 8);
  EXPECT_EQ(CoresWithin(900.0, 8), 8) << "more than there are";
  EXPECT_EQ(CoresWithin(std::nullopt, 8), 8);
}

}  // namespace
}  // namespace inferflux
