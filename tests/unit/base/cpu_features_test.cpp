#include "base/cpu_features.h"

#include <gtest/gtest.h>

namespace inferflux {
namespace {

TEST(CpuIsa, EveryMachineRunsTheScalarKernels) { EXPECT_TRUE(Runs(CpuFeatures{}, CpuIsa::kScalar)); }

TEST(CpuIsa, TilesNeedBothKindsOfTheirMatmul) {
  EXPECT_FALSE(Runs({.amx_int8 = true}, CpuIsa::kAmx));
  EXPECT_TRUE(Runs({.amx_int8 = true, .amx_bf16 = true}, CpuIsa::kAmx));
}

}  // namespace
}  // namespace inferflux
