#include <cmath>
#include <limits>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

class CpuMatMulTest : public CpuTest {};

constexpr TensorType kTypes[] = {TensorType::kF32,   TensorType::kF16,    TensorType::kBf16,   TensorType::kQ8_0,
                                 TensorType::kQ4_0,  TensorType::kQ4_K,   TensorType::kQ5_K,   TensorType::kQ6_K,
                                 TensorType::kQ5_0,  TensorType::kQ5_1,   TensorType::kQ4_1,   TensorType::kQ2_K,
                                 TensorType::kQ3_K,  TensorType::kIq4Nl,  TensorType::kIq4Xs,  TensorType::kMxfp4,
                                 TensorType::kIq1S,  TensorType::kIq1M,   TensorType::kIq2Xxs, TensorType::kIq2Xs,
                                 TensorType::kIq2S,  TensorType::kIq3Xxs, TensorType::kIq3S,   TensorType::kTq1_0,
                                 TensorType::kTq2_0, TensorType::kNvfp4};

TEST_P(CpuMatMulTest, EqualsReferenceWhereInt8IsExact) {
  for (const TensorType type : kTypes) {
    for (const auto& [outputs, inputs] : {std::pair{1, 256}, {16, 512}, {33, 256}, {64, 1024}, {150, 768}}) {
      const OwnedMatrix weights = RandomMatrix(type, random, outputs, inputs);
      const auto expected = *Reference::LoadMatrix(reference, {&weights.matrix, 1});
      const auto actual = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
      for (const int rows : {1, 2, 3, 7, 13, 70}) {
        if (rows == 70 && outputs != 33) continue;  // more than one task's rows
        const auto x = ExactActivations(rows, inputs);
        EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, actual), Reference::MatMul(reference, x, expected)), 2e-6)
            << formats::TensorTypeName(type) << " [" << outputs << ", " << inputs << "] x " << rows;
      }
    }
  }
}

// If kernels add up in 16 bits, the largest sums must fit: all weights at an end of their range, with all activations
// at an end too, or near the point where a sum of 16 or 32 of them exceeds 16 bits.
TEST_P(CpuMatMulTest, TheLargestSumsAreExact) {
  struct Layout {
    TensorType type;
    size_t block, first, last;  // bytes of a block, and the range of them that holds weights
  };
  for (const Layout& at : {Layout{TensorType::kQ8_0, 34, 2, 34},
                           {TensorType::kQ4_0, 18, 2, 18},
                           {TensorType::kQ4_K, 144, 16, 144},
                           {TensorType::kQ5_K, 176, 16, 176},
                           {TensorType::kQ6_K, 210, 0, 192},
                           {TensorType::kQ4_1, 20, 4, 20},
                           {TensorType::kQ5_1, 24, 4, 24},
                           {TensorType::kMxfp4, 17, 1, 17},
                           {TensorType::kNvfp4, 36, 4, 36},
                           {TensorType::kQ5_0, 22, 2, 22},
                           {TensorType::kQ2_K, 84, 0, 80},
                           {TensorType::kQ3_K, 110, 0, 108},
                           {TensorType::kIq4Nl, 18, 2, 18},
                           {TensorType::kIq4Xs, 136, 2, 136},
                           {TensorType::kIq3Xxs, 98, 2, 98},
                           {TensorType::kIq2S, 82, 2, 82},
                           {TensorType::kIq1S, 50, 2, 50}}) {
    for (const int weight : {0x00, 0x7f, 0x80, 0xff}) {
      OwnedMatrix weights = RandomMatrix(at.type, random, 32, 512);
      ASSERT_EQ(weights.bytes.size() % at.block, 0u);
      for (size_t i = 0; i < weights.bytes.size(); ++i) {
        const size_t place = i % at.block;
        if (place >= at.first && place < at.last) weights.bytes[i] = static_cast<std::byte>(weight);
      }
      const auto expected = *Reference::LoadMatrix(reference, {&weights.matrix, 1});
      const auto actual = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
      for (const float most : {30, 31, 32, 33, 34, 59, 60, 63, 64, 66, 67, 68, 69, 127}) {
        auto x = reference.arena.Allocate(27, 512);  // more than one tile of rows, and a partial tile
        for (int64_t row = 0; row < x.rows(); ++row) {
          std::fill_n(x.row(row), 512, row % 2 == 0 ? most : -most);
          x.row(row)[0] = x.row(row)[256] = row % 2 == 0 ? 127.0f : -127.0f;  // determines the int8 step
        }
        EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, actual), Reference::MatMul(reference, x, expected)), 2e-6)
            << formats::TensorTypeName(at.type) << " of " << weight << " with " << most;
      }
    }
  }
}

// The error of rounded activations: uniform rounding to 127 steps of the largest of 32 or 256 normal values.
TEST_P(CpuMatMulTest, StaysWithinTheErrorOfRoundedActivations) {
  for (const TensorType type : kTypes) {
    const OwnedMatrix weights = RandomMatrix(type, random, 96, 2048);
    const auto expected = *Reference::LoadMatrix(reference, {&weights.matrix, 1});
    const auto actual = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    const auto x = Random(9, 2048);
    double bound = 0.01;
    if (type == TensorType::kF32 || type == TensorType::kF16) bound = 2e-6;
    if (type == TensorType::kBf16) bound = 2e-3;  // activations are rounded to eight bits of mantissa
    EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, actual), Reference::MatMul(reference, x, expected)), bound)
        << formats::TensorTypeName(type);
  }
}

TEST_P(CpuMatMulTest, InputsNeedNotFillAChunk) {
  for (const TensorType type :
       {TensorType::kF32, TensorType::kBf16, TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ4_1,
        TensorType::kQ5_1, TensorType::kIq4Nl, TensorType::kMxfp4, TensorType::kNvfp4}) {
    for (const int inputs : {32, 64, 96, 288, 896}) {
      if (inputs % formats::Traits(type).block_elements != 0) continue;
      const OwnedMatrix weights = RandomMatrix(type, random, 40, inputs);
      const auto expected = *Reference::LoadMatrix(reference, {&weights.matrix, 1});
      const auto actual = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
      for (const int rows : {1, 8, 70}) {
        const auto x = ExactActivations(rows, inputs);
        EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, actual), Reference::MatMul(reference, x, expected)), 2e-6)
            << formats::TensorTypeName(type) << " of " << inputs;
      }
    }
  }
}

// A model takes about as much memory as its file: decoding reads all of it once per token.
TEST(CpuPanelsTest, TakeLittleMoreThanTheFile) {
  struct Bits {
    TensorType type;
    double most;
  };
  for (const auto& [type, most] : {Bits{TensorType::kQ4_0, 4.5},
                                   {TensorType::kQ5_0, 5.5},
                                   {TensorType::kQ8_0, 8.5},
                                   {TensorType::kIq4Nl, 4.5},
                                   {TensorType::kMxfp4, 4.5},
                                   {TensorType::kNvfp4, 5.0},
                                   {TensorType::kIq4Xs, 4.4},
                                   {TensorType::kQ2_K, 2.65},
                                   {TensorType::kTq2_0, 2.65},
                                   {TensorType::kQ3_K, 3.65},
                                   {TensorType::kQ4_K, 4.5},
                                   {TensorType::kQ5_K, 5.5},
                                   {TensorType::kQ6_K, 6.65},
                                   {TensorType::kIq3S, 4.75},
                                   {TensorType::kIq2Xxs, 4.75},
                                   {TensorType::kIq1S, 4.75}}) {
    const auto bits = [&](int64_t inputs) {
      return 8.0 * static_cast<double>(cpu::PanelBytes(cpu::FormatOf(type), inputs)) /
             static_cast<double>(cpu::kPanel * inputs);
    };
    EXPECT_LE(bits(4096), most) << formats::TensorTypeName(type);
    // Inputs that end within a chunk take the scales of a whole one, and nothing else.
    if (formats::Traits(type).block_elements == 32) {
      EXPECT_LE(bits(896), 1.02 * most) << formats::TensorTypeName(type);
    }
  }
}

TEST_P(CpuMatMulTest, PartsOfDifferentTypesAreStacked) {
  std::vector<OwnedMatrix> owned;
  std::vector<HostMatrix> parts;
  for (const auto& [type, outputs] : {std::pair{TensorType::kQ4_K, 50},
                                      {TensorType::kQ8_0, 7},
                                      {TensorType::kQ6_K, 130},
                                      {TensorType::kF16, 20},
                                      {TensorType::kQ4_0, 16}}) {
    owned.push_back(RandomMatrix(type, random, outputs, 512));
  }
  for (const OwnedMatrix& each : owned) parts.push_back(each.matrix);
  const auto expected = *Reference::LoadMatrix(reference, parts);
  const auto actual = *Cpu::LoadMatrix(cpu, parts);
  EXPECT_EQ(actual.rows, 223);
  const std::string isa(CpuIsaName(GetParam()));
  EXPECT_EQ(Cpu::Describe(actual), "Q4_K+Q8_0+Q6_K+F16+Q4_0 [223, 512] packed as q4_k+q8_0+q6_k+f16+q4_0, " + isa);
  for (const int rows : {1, 5, 300}) {
    const auto x = ExactActivations(rows, 512);
    EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, actual), Reference::MatMul(reference, x, expected)), 2e-6);
  }
}

// Weights left in their file give bit-identical results, only slower.
TEST_P(CpuMatMulTest, WeightsNeedNotBePackedAtLoad) {
  Cpu::Context in_file(pool, GetParam());
  in_file.repack = false;
  for (const int64_t inputs : {256, 1280}) {
    std::vector<OwnedMatrix> owned;
    for (const TensorType type : kTypes) owned.push_back(RandomMatrix(type, random, 150, inputs));
    std::vector<HostMatrix> parts;
    for (const OwnedMatrix& each : owned) parts.push_back(each.matrix);
    const auto packed = *Cpu::LoadMatrix(cpu, parts);
    const auto unpacked = *Cpu::LoadMatrix(in_file, parts);
    EXPECT_EQ(unpacked.bytes(), 0u);
    for (const int rows : {1, 5, 130}) {
      const auto x = Random(rows, inputs);
      EXPECT_TRUE(SameBits(Cpu::MatMul(in_file, x, unpacked), Cpu::MatMul(cpu, x, packed))) << inputs << " x " << rows;
    }
  }
}

// The backend's guarantee: a row's result is the same alone, in any batch, on any number of threads.
TEST_P(CpuMatMulTest, ARowDoesNotDependOnItsBatchOrOnThreads) {
  ThreadPool one(1);
  ThreadPool three(3);
  Cpu::Context alone(one, GetParam());
  Cpu::Context many(three, GetParam());
  for (const TensorType type : kTypes) {
    const OwnedMatrix weights = RandomMatrix(type, random, 250, 1280);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    const auto x = Random(300, 1280);
    const auto all = Cpu::MatMul(cpu, x, matrix);
    EXPECT_TRUE(SameBits(Cpu::MatMul(alone, x, matrix), all)) << formats::TensorTypeName(type);
    EXPECT_TRUE(SameBits(Cpu::MatMul(many, x, matrix), all)) << formats::TensorTypeName(type);
    std::uniform_int_distribution<int> count(1, 70);
    for (int64_t r = 0; r < 300;) {
      const int64_t rows = std::min<int64_t>(r % 3 == 0 ? 1 : count(random), 300 - r);
      EXPECT_TRUE(SameBits(Cpu::MatMul(r % 2 == 0 ? alone : many, Rows(x, r, rows), matrix), Rows(all, r, rows)))
          << formats::TensorTypeName(type) << " rows " << r << " to " << r + rows;
      r += rows;
    }
  }
}

// For any way in which rows fill tiles and tasks.
TEST_P(CpuMatMulTest, ManyRowsGiveTheBitsOfOne) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kNvfp4, TensorType::kQ2_K, TensorType::kQ3_K,
                                TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K, TensorType::kIq3S}) {
    const OwnedMatrix weights = RandomMatrix(type, random, 42, 768);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    const auto x = Random(260, 768);
    host::Buffer alone = cpu.arena.Allocate(x.rows(), 42);
    for (int64_t r = 0; r < x.rows(); ++r) {
      const auto y = Cpu::MatMul(cpu, Rows(x, r, 1), matrix);
      std::copy_n(host::View(y).row(0), 42, alone.row(r));
    }
    for (const int rows :
         {2, 5, 8, 15, 16, 23, 24, 27, 28, 32, 35, 40, 47, 52, 56, 59, 60, 64, 65, 112, 113, 125, 260}) {
      EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, Rows(x, 260 - rows, rows), matrix), Rows(alone, 260 - rows, rows)))
          << formats::TensorTypeName(type) << " x " << rows;
    }
  }
}

// Machines without bfloat16 instructions round identically; only the order of two additions differs.
TEST_P(CpuMatMulTest, Bf16DoesNotNeedItsUnit) {
  CpuFeatures features = DetectCpuFeatures();
  features.avx512_bf16 = false;
  Cpu::Context without(pool, cpu::KernelsFor(GetParam(), features));
  for (const int inputs : {64, 255, 1280}) {
    const OwnedMatrix weights = RandomMatrix(TensorType::kBf16, random, 70, inputs);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    for (const int rows : {1, 4, 15}) {
      const auto x = Random(rows, inputs);
      EXPECT_LT(RelativeError(Cpu::MatMul(cpu, x, matrix), Cpu::MatMul(without, x, matrix)), 2e-6);
    }
  }
}

TEST_P(CpuMatMulTest, ReadsAWindowOfColumns) {
  const OwnedMatrix weights = RandomMatrix(TensorType::kQ8_0, random, 40, 64);
  const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
  const auto wide = Random(5, 256);
  const auto narrow = Cpu::Columns(wide, 96, 64);
  const auto dense = host::Buffer([&] {
    host::Buffer out = reference.arena.Allocate(5, 64);
    for (int r = 0; r < 5; ++r) std::copy_n(narrow.row(r), 64, out.row(r));
    return out;
  }());
  EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, narrow, matrix), Cpu::MatMul(cpu, dense, matrix)));
}

TEST_P(CpuMatMulTest, RowsOfZerosGiveZeros) {
  for (const TensorType type : kTypes) {
    const OwnedMatrix weights = RandomMatrix(type, random, 20, 256);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    host::Buffer x = cpu.arena.Allocate(2, 256);
    for (int64_t r = 0; r < x.rows(); ++r) std::fill_n(x.row(r), x.cols(), 0.0f);
    const host::Buffer y = Cpu::MatMul(cpu, x, matrix);
    for (const float value : Cpu::Read(cpu, y)) EXPECT_EQ(value, 0.0f);
  }
}

// A model that computes NaN or infinity must report it, not answer from rounded values; other rows are unaffected.
TEST_P(CpuMatMulTest, WhatIsNoNumberStaysNone) {
  for (const TensorType type : kTypes) {
    const OwnedMatrix weights = RandomMatrix(type, random, 40, 768);
    const auto matrix = *Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
    for (const int rows : {1, 3, 8, 27}) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        auto x = Random(rows, 768);
        auto expected = Cpu::MatMul(cpu, x, matrix);
        x.row(rows / 2)[300] = bad;
        auto actual = Cpu::MatMul(cpu, x, matrix);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t i = 0; i < 40; ++i) {
            const float value = actual.row(row)[i];
            ASSERT_TRUE(row == rows / 2 ? !std::isfinite(value) : value == expected.row(row)[i])
                << formats::TensorTypeName(type) << ", row " << row << " of " << rows << ", output " << i << ": "
                << value << " for " << bad;
          }
        }
      }
    }
  }
}

TEST_P(CpuMatMulTest, RefusesBytesThatDoNotFitTheShape) {
  OwnedMatrix weights = RandomMatrix(TensorType::kQ4_K, random, 16, 256);
  weights.matrix.rows = 17;
  const auto matrix = Cpu::LoadMatrix(cpu, {&weights.matrix, 1});
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().code, ErrorCode::kDataLoss);
}

INFERFLUX_CPU_TESTS(CpuMatMulTest);

}  // namespace
}  // namespace inferflux::compute::testing
