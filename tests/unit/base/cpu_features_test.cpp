#include "base/cpu_features.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace inferflux {
namespace {

struct ForcedIsa {
  explicit ForcedIsa(const char* name) { ::setenv("INFERFLUX_CPU_ISA", name, 1); }
  ~ForcedIsa() { ::unsetenv("INFERFLUX_CPU_ISA"); }
};

TEST(CpuIsa, ScalarCanAlwaysBeForced) {
  const ForcedIsa forced("scalar");
  ASSERT_TRUE(SelectCpuIsa());
  EXPECT_EQ(*SelectCpuIsa(), CpuIsa::kScalar);
}

TEST(CpuIsa, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  const ForcedIsa forced("sse9");
  const auto isa = SelectCpuIsa();
  ASSERT_FALSE(isa);
  EXPECT_NE(isa.error().message.find("sse9"), std::string::npos);
  EXPECT_NE(isa.error().message.find("avx512-vnni"), std::string::npos);
}

TEST(CpuIsa, WhatIsChosenHasAName) { EXPECT_NE(CpuIsaName(*SelectCpuIsa()), "unknown"); }

}  // namespace
}  // namespace inferflux
