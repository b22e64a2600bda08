// Runs a test once for each instruction set that this machine supports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compute/compare.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/random_data.h"
#include "compute/reference/reference_backend.h"
#include "support/cpu_isas.h"

namespace inferflux::compute::testing {

class CpuTest : public ::testing::TestWithParam<CpuIsa> {
 protected:
  ThreadPool pool{2};
  Cpu::Context cpu{pool, GetParam()};
  Reference::Context reference;
  std::mt19937 random{20240807};

  host::Buffer Random(int64_t rows, int64_t cols) { return RandomBuffer(reference.arena, random, rows, cols); }

  // Integers up to 127, with 127 in every 32: int8 holds them exactly.
  host::Buffer ExactActivations(int64_t rows, int64_t cols) {
    host::Buffer out = reference.arena.Allocate(rows, cols);
    std::uniform_int_distribution<int> value(-127, 127);
    for (int64_t r = 0; r < rows; ++r) {
      std::generate_n(out.row(r), cols, [&] { return static_cast<float>(value(random)); });
      for (int64_t c = r % 32; c < cols; c += 32) out.row(r)[c] = c % 64 < 32 ? 127.0f : -127.0f;
    }
    return out;
  }
};

inline std::string IsaTestName(const ::testing::TestParamInfo<CpuIsa>& info) {
  std::string name(CpuIsaName(info.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace inferflux::compute::testing

#define INFERFLUX_CPU_TESTS(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, ::testing::ValuesIn(::inferflux::testing::RunnableIsas()), \
                           ::inferflux::compute::testing::IsaTestName)
