// Q8_0 weights that fit into 4 bits with a zero point: what GPTQ's and AWQ's groups become.
#include <cmath>
#include <limits>

#include "compute/cpu/cpu_test.h"
#include "compute/cpu/packing/packed_matrix.h"

namespace inferflux::compute::testing {
namespace {

using formats::BlockQ8_0;
using formats::TensorType;

class CpuZeroPoint4Test : public CpuTest {
 protected:
  bool IsZeroPoint4(const Cpu::Matrix& matrix) {
    return Cpu::Describe(matrix).find("packed as q8_0 in 4 bits,") != std::string::npos;
  }
};

TEST_P(CpuZeroPoint4Test, EqualsReferenceWhereInt8IsExact) {
  for (const int run : {1, 4}) {
    for (const auto& [outputs, inputs] : {std::pair{1, 32}, {37, 96}, {16, 288}, {150, 512}, {40, 896}, {33, 1024}}) {
      for (const bool high : {false, true}) {
        const OwnedMatrix weights = ZeroPoint4Matrix(random, outputs, inputs, run, high);
        const auto expected = *Reference::LoadMatrix(reference, {&weights.matrix, 1});
        const auto actual = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
        EXPECT_TRUE(IsZeroPoint4(actual)) << Cpu::Describe(actual);
        for (const int rows : {1, 2, 8, 13, 70}) {
          const auto x = ExactActivations(rows, inputs);
          EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, actual), Reference::MatMul(reference, x, expected)), 2e-6)
              << run << ", [" << outputs << ", " << inputs << "] x " << rows;
        }
      }
    }
  }
}

TEST_P(CpuZeroPoint4Test, GivesTheSameBitsWhereItIsPackedForEachProduct) {
  Cpu::Context in_file(pool, GetParam());
  in_file.repack = false;
  for (const int run : {1, 4}) {
    const OwnedMatrix weights = ZeroPoint4Matrix(random, 150, 1280, run);
    const auto packed = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    const auto unpacked = *Cpu::LoadMatrix(in_file, {&weights.matrix, 1});
    for (const int rows : {1, 5, 130}) {
      const auto x = Random(rows, 1280);
      EXPECT_TRUE(SameBits(Cpu::MatMul(in_file, x, unpacked), Cpu::MatMul(cpu, x, packed))) << run << " x " << rows;
    }
  }
}

TEST_P(CpuZeroPoint4Test, ARowDoesNotDependOnItsBatch) {
  for (const int run : {1, 4}) {
    const OwnedMatrix weights = ZeroPoint4Matrix(random, 42, 768, run);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    const auto x = Random(130, 768);
    const auto all = Cpu::MatMul(cpu, x, matrix);
    for (int64_t r = 0; r < 130; ++r) {
      EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, Rows(x, r, 1), matrix), Rows(all, r, 1))) << run << ", row " << r;
    }
    for (const int rows : {2, 5, 8, 15, 16, 23, 24, 27, 32, 47, 65}) {
      EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, Rows(x, 130 - rows, rows), matrix), Rows(all, 130 - rows, rows)))
          << run << " x " << rows;
    }
  }
}

TEST_P(CpuZeroPoint4Test, WhatIsNoNumberStaysNone) {
  const OwnedMatrix weights = ZeroPoint4Matrix(random, 40, 768, 4);
  const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
  for (const int rows : {1, 8, 27}) {
    auto x = Random(rows, 768);
    const auto expected = Cpu::MatMul(cpu, x, matrix);
    x.row(rows / 2)[300] = std::numeric_limits<float>::quiet_NaN();
    const auto actual = Cpu::MatMul(cpu, x, matrix);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < 40; ++i) {
        const float value = host::View(actual).row(row)[i], before = host::View(expected).row(row)[i];
        EXPECT_TRUE(row == rows / 2 ? std::isnan(value) : value == before) << row << " of " << rows << ": " << value;
      }
    }
  }
}

TEST_P(CpuZeroPoint4Test, OneWideBlockOrScaleOfItsOwnKeepsIt) {
  OwnedMatrix weights = ZeroPoint4Matrix(random, 70, 1024, 4);
  const auto bytes = [&] { return (*Cpu::LoadMatrix(cpu, {&weights.matrix, 1})).bytes(); };
  const size_t shared = bytes();
  BlockQ8_0* blocks = reinterpret_cast<BlockQ8_0*>(weights.bytes.data());
  BlockQ8_0& last = blocks[weights.bytes.size() / sizeof(BlockQ8_0) - 1];
  last.d = ToFp16(2 * ToFloat(last.d));
  const size_t apart = bytes();
  const auto [low, high] = std::minmax_element(std::begin(last.qs), std::end(last.qs));
  *low < 0 ? *high = static_cast<int8_t>(*low + 16) : *low = static_cast<int8_t>(*high - 16);
  const auto wide = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
  EXPECT_FALSE(IsZeroPoint4(wide)) << Cpu::Describe(wide);
  const auto bits = [&](size_t size) { return 8.0 * static_cast<double>(size) / (80 * 1024); };
  EXPECT_NEAR(bits(shared), 4.25, 0.01);
  EXPECT_NEAR(bits(apart), 4.75, 0.01);
  EXPECT_NEAR(bits(wide.bytes()), 8.5, 0.01);
}

INFERFLUX_CPU_TESTS(CpuZeroPoint4Test);

}  // namespace
}  // namespace inferflux::compute::testing
