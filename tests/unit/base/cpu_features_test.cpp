#include "base/cpu_features.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace inferflux {
namespace {

struct IsaRow {
  CpuIsa isa;
  std::string_view name;
  CpuFeatures least;  // that it needs
};

constexpr IsaRow kIsas[] = {{CpuIsa::kScalar, "scalar", {}},
                            {CpuIsa::kAvx2, "avx2", {.avx2 = true}},
                            {CpuIsa::kAvxVnni, "avx-vnni", {.avx_vnni = true}},
                            {CpuIsa::kAvx512Vnni, "avx512-vnni", {.avx512_vnni = true}},
                            {CpuIsa::kAmx, "amx", {.amx_int8 = true, .amx_bf16 = true}},
                            {CpuIsa::kNeon, "neon", {.neon_dotprod = true}}};

TEST(CpuIsa, EachRunsWhereItsOwnFeatureIs) {
  for (const IsaRow& row : kIsas) {
    EXPECT_EQ(CpuIsaName(row.isa), row.name);
    for (const IsaRow& other : kIsas) {
      EXPECT_EQ(Runs(row.least, other.isa), other.isa == row.isa || other.isa == CpuIsa::kScalar)
          << row.name << ", " << other.name;
    }
  }
}

TEST(CpuIsa, TilesNeedBothKindsOfTheirMatmul) {
  EXPECT_FALSE(Runs({.amx_int8 = true}, CpuIsa::kAmx));
  EXPECT_FALSE(Runs({.amx_bf16 = true}, CpuIsa::kAmx));
}

#if defined(__x86_64__) && defined(__linux__)
TEST(CpuFeaturesTest, AreThoseThatTheKernelLists) {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) flags.insert(word);
  }
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  const auto has = [&](const char* flag) { return flags.contains(flag); };
  const CpuFeatures& found = DetectCpuFeatures();
  const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  EXPECT_EQ(found.avx2, has("avx2") && has("fma"));
  EXPECT_EQ(found.avx512_vnni, found.avx2 && avx512 && has("avx512_vnni"));
  EXPECT_EQ(found.avx512_bf16, found.avx512_vnni && has("avx512_bf16"));
  unsigned a = 0, b = 0, c = 0, d = 0;  // older kernels do not list AVX-VNNI
  const bool listed = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 0x10u) != 0;
  EXPECT_EQ(found.avx_vnni, found.avx2 && listed);
  EXPECT_TRUE(found.avx2 || !found.avx_vnni);
  const bool tiles = has("amx_tile") && ::syscall(SYS_arch_prctl, 0x1023, 18) == 0;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
  EXPECT_EQ(found.amx_int8, tiles && has("amx_int8"));
  EXPECT_EQ(found.amx_bf16, tiles && has("amx_bf16"));
  EXPECT_FALSE(found.neon_dotprod);
}
#endif

}  // namespace
}  // namespace inferflux
