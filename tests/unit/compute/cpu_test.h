// Runs a test once for each instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "compute/compare.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/random_data.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute::testing {

inline std::vector<CpuIsa> RunnableIsas() {
  const CpuFeatures& features = DetectCpuFeatures();
  std::vector<CpuIsa> out{CpuIsa::kScalar};
  if (features.avx2) out.push_back(CpuIsa::kAvx2);
  if (features.avx512_vnni) out.push_back(CpuIsa::kAvx512Vnni);
  if (features.amx_int8 && features.amx_bf16) out.push_back(CpuIsa::kAmx);
  if (features.neon_dotprod) out.push_back(CpuIsa::kNeon);
  return out;
}

class CpuTest : public ::testing::TestWithParam<CpuIsa> {
 protected:
  ThreadPool pool{2};
  Cpu::Context cpu{pool, GetParam()};
  Reference::Context reference;
  std::mt19937 random{20240807};

  host::Buffer Random(int64_t rows, int64_t cols) { return RandomBuffer(reference.arena, random, rows, cols); }
};

inline std::string IsaTestName(const ::testing::TestParamInfo<CpuIsa>& info) {
  std::string name(CpuIsaName(info.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace inferflux::compute::testing

#define INFERFLUX_CPU_TESTS(suite)                                                                         \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, ::testing::ValuesIn(::inferflux::compute::testing::RunnableIsas()), \
                           ::inferflux::compute::testing::IsaTestName)
