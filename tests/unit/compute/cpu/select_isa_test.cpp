#include "compute/cpu/kernels/select_isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "support/cpu_isas.h"

namespace inferflux::compute::cpu {
namespace {

using ::inferflux::testing::ForcedIsa;

constexpr std::array kEvery = {CpuIsa::kScalar,     CpuIsa::kAvx2, CpuIsa::kAvxVnni,
                               CpuIsa::kAvx512Vnni, CpuIsa::kAmx,  CpuIsa::kNeon};

bool IsBuilt(CpuIsa isa) { return std::ranges::find(BuiltIsas(), isa) != BuiltIsas().end(); }

TEST(SelectCpuIsa, ScalarCanAlwaysBeForced) {
  const ForcedIsa forced(CpuIsa::kScalar);
  ASSERT_TRUE(SelectCpuIsa());
  EXPECT_EQ(*SelectCpuIsa(), CpuIsa::kScalar);
}

TEST(SelectCpuIsa, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  ::setenv("INFERFLUX_CPU_ISA", "sse9", 1);
  const auto isa = SelectCpuIsa();
  ::unsetenv("INFERFLUX_CPU_ISA");
  ASSERT_FALSE(isa);
  EXPECT_NE(isa.error().message.find("sse9"), std::string::npos);
  EXPECT_NE(isa.error().message.find("avx512-vnni"), std::string::npos);
}

// Otherwise a machine would run unsupported instructions, or measure other kernels than the named ones.
TEST(SelectCpuIsa, ASetIsForcedOnlyWhereItIsBuiltAndRuns) {
  for (const CpuIsa isa : kEvery) {
    const ForcedIsa forced(isa);
    const auto selected = SelectCpuIsa();
    if (Runs(DetectCpuFeatures(), isa) && IsBuilt(isa)) {
      ASSERT_TRUE(selected) << CpuIsaName(isa);
      EXPECT_EQ(*selected, isa);
      EXPECT_EQ(KernelsFor(isa).isa, isa);
    } else {
      ASSERT_FALSE(selected) << CpuIsaName(isa);
      EXPECT_NE(selected.error().message.find(CpuIsaName(isa)), std::string::npos);
    }
  }
}

TEST(SelectCpuIsa, WhatIsSelectedIsBuilt) {
  ASSERT_TRUE(SelectCpuIsa());
  EXPECT_TRUE(IsBuilt(*SelectCpuIsa()));
}

// A set that is not built must not leave null pointers in the table.
TEST(KernelTable, EverySetHasEveryMatmul) {
  for (const CpuIsa isa : kEvery) {
    const Kernels& kernels = KernelsFor(isa);
    EXPECT_TRUE(IsBuilt(kernels.isa));
    EXPECT_TRUE(std::ranges::all_of(kernels.matmul, [](MatmulKernel kernel) { return kernel != nullptr; }))
        << CpuIsaName(isa);
  }
}

#if defined(__x86_64__)
TEST(DescribeBuild, ABuildWithEverySetNeedsNoNote) {
  constexpr std::array kAll = {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvxVnni, CpuIsa::kAvx512Vnni, CpuIsa::kAmx};
  EXPECT_EQ(DescribeBuild(kAll, {}).text, "");
}

TEST(DescribeBuild, ABuildForThisMachineNamesItsSets) {
  constexpr std::array kBuilt = {CpuIsa::kScalar, CpuIsa::kAvx2};
  const BuildNote note = DescribeBuild(kBuilt, {.avx2 = true});
  EXPECT_EQ(note.text, "built for this machine's instruction sets alone: scalar, avx2");
  EXPECT_FALSE(note.slower);
}

TEST(DescribeBuild, ABuildForAnotherMachineSaysWhatIsFasterHere) {
  constexpr std::array kBuilt = {CpuIsa::kScalar, CpuIsa::kAvx2};
  const BuildNote note = DescribeBuild(kBuilt, {.avx2 = true, .avx512_vnni = true});
  EXPECT_TRUE(note.slower);
  EXPECT_NE(note.text.find("avx512-vnni"), std::string::npos);
  EXPECT_NE(note.text.find("INFERFLUX_CPU=all"), std::string::npos);
}
#endif

}  // namespace
}  // namespace inferflux::compute::cpu
