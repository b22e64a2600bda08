// Weights of 8-bit floats from checkpoints: results are bit-identical to those of the floats that they represent.
#include <cmath>
#include <limits>

#include "compute/cpu/cpu_test.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute::testing {
namespace {

using formats::Fp8Layout;

struct Fp8Shape {
  int64_t outputs, inputs, block_outputs, block_inputs;
};

// A matrix in FP8, and the floats that it represents.
struct Both {
  std::vector<std::byte> values;
  std::vector<float> scales;
  OwnedMatrix floats;
  HostMatrix fp8;
};

Both RandomFp8(const Fp8Shape& shape, std::mt19937& random) {
  Both out;
  const int64_t rows = (shape.outputs + shape.block_outputs - 1) / shape.block_outputs;
  const int64_t columns = (shape.inputs + shape.block_inputs - 1) / shape.block_inputs;
  std::uniform_real_distribution<float> scale(-0.01f, 0.01f);
  out.scales.resize(static_cast<size_t>(rows * columns));
  for (float& each : out.scales) each = scale(random);
  out.values.resize(static_cast<size_t>(shape.outputs * shape.inputs));
  for (std::byte& each : out.values) {
    each = static_cast<std::byte>(random());
    if ((each & std::byte{0x7f}) == std::byte{0x7f}) each = std::byte{0x81};  // smallest negative, not NaN
  }
  const Fp8Layout layout{.block_outputs = shape.block_outputs,
                         .block_inputs = shape.block_inputs,
                         .values = out.values,
                         .scales = out.scales};
  out.fp8 = {.name = "fp8", .rows = shape.outputs, .cols = shape.inputs};
  out.fp8.layout = std::make_shared<const formats::WeightLayout>(layout);
  out.floats.bytes.resize(out.values.size() * sizeof(float));
  for (int64_t o = 0; o < shape.outputs; ++o) {
    for (int64_t i = 0; i < shape.inputs; ++i) {
      const int64_t at = o * shape.inputs + i;
      const float weight = ToFloat(Fp8{static_cast<uint8_t>(out.values[static_cast<size_t>(at)])}) *
                           out.scales[static_cast<size_t>(o / shape.block_outputs * columns + i / shape.block_inputs)];
      std::memcpy(out.floats.bytes.data() + static_cast<size_t>(at) * sizeof(float), &weight, sizeof(float));
    }
  }
  out.floats.matrix = {.name = "floats", .rows = shape.outputs, .cols = shape.inputs, .data = out.floats.bytes};
  return out;
}

constexpr Fp8Shape kShapes[] = {{1, 64, 1, 64},        {16, 128, 16, 128}, {33, 200, 1, 200},   {150, 1280, 128, 128},
                                {150, 1300, 128, 128}, {70, 640, 70, 640}, {130, 896, 64, 256}, {96, 2048, 1, 384}};

class CpuFp8Test : public CpuTest {};

TEST_P(CpuFp8Test, GivesTheBitsOfItsFloats) {
  Cpu::Context in_file(pool, GetParam());
  in_file.repack = false;
  for (const Fp8Shape& shape : kShapes) {
    const Both both = RandomFp8(shape, random);
    const auto floats = *Cpu::LoadMatrix(cpu, {&both.floats.matrix, 1});
    const auto packed = Cpu::LoadMatrix(cpu, {&both.fp8, 1});
    ASSERT_TRUE(packed) << packed.error().message;
    const auto unpacked = *Cpu::LoadMatrix(in_file, {&both.fp8, 1});
    for (const int rows : {1, 2, 5, 6, 7, 13, 64, 70, 130}) {
      const auto x = Random(rows, shape.inputs);
      const auto expected = Cpu::MatMul(cpu, x, floats);
      EXPECT_TRUE(SameBits(Cpu::MatMul(cpu, x, *packed), expected))
          << "[" << shape.outputs << ", " << shape.inputs << "] x " << rows;
      EXPECT_TRUE(SameBits(Cpu::MatMul(in_file, x, unpacked), expected));
    }
  }
}

TEST_P(CpuFp8Test, TakesAQuarterOfTheMemory) {
  const Both both = RandomFp8({256, 4096, 128, 128}, random);
  const auto floats = *Cpu::LoadMatrix(cpu, {&both.floats.matrix, 1});
  const auto fp8 = *Cpu::LoadMatrix(cpu, {&both.fp8, 1});
  EXPECT_LT(fp8.bytes(), floats.bytes() * 26 / 100);
  EXPECT_EQ(Cpu::Describe(fp8), "FP8 [256, 4096] packed as fp8, " + std::string(CpuIsaName(GetParam())));
}

// An output with a NaN weight is NaN, and all other outputs are unaffected.
TEST_P(CpuFp8Test, AWeightThatIsNoNumberIsSeen) {
  for (const uint8_t none : {0x7f, 0xff}) {
    Both both = RandomFp8({40, 512, 1, 512}, random);
    both.values[17 * 512 + 300] = static_cast<std::byte>(none);
    const auto fp8 = *Cpu::LoadMatrix(cpu, {&both.fp8, 1});
    for (const int rows : {1, 9}) {
      const auto y = Cpu::MatMul(cpu, Random(rows, 512), fp8);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t o = 0; o < 40; ++o) EXPECT_EQ(std::isnan(host::View(y).row(r)[o]), o == 17) << r << ", " << o;
      }
    }
  }
}

TEST_P(CpuFp8Test, StandsBesideOtherTypes) {
  const Both both = RandomFp8({50, 512, 1, 512}, random);
  const OwnedMatrix other = RandomMatrix(formats::TensorType::kQ8_0, random, 30, 512);
  const std::vector<HostMatrix> parts{other.matrix, both.fp8}, plain{other.matrix, both.floats.matrix};
  const auto x = Random(7, 512);
  EXPECT_TRUE(
      SameBits(Cpu::MatMul(cpu, x, *Cpu::LoadMatrix(cpu, parts)), Cpu::MatMul(cpu, x, *Cpu::LoadMatrix(cpu, plain))));
}

TEST_P(CpuFp8Test, IsLookedUpToo) {
  const Both both = RandomFp8({50, 256, 128, 128}, random);
  const auto table = *Cpu::LoadTable(cpu, both.fp8), floats = *Cpu::LoadTable(cpu, both.floats.matrix);
  StepGeometry step;
  step.tokens = {3, 49, 0};
  EXPECT_TRUE(SameBits(Cpu::Embed(cpu, table, step), Cpu::Embed(cpu, floats, step)));
}

TEST_P(CpuFp8Test, RefusesNumbersThatDoNotFitTheShape) {
  const Both both = RandomFp8({16, 512, 1, 128}, random);
  const auto refused = [&](auto change) {
    HostMatrix matrix = both.fp8;
    Fp8Layout layout = std::get<Fp8Layout>(*matrix.layout);
    change(layout, matrix);
    matrix.layout = std::make_shared<const formats::WeightLayout>(layout);
    const auto loaded = Cpu::LoadMatrix(cpu, {&matrix, 1});
    return !loaded && loaded.error().code == ErrorCode::kDataLoss;
  };
  EXPECT_FALSE(refused([](Fp8Layout&, HostMatrix&) {}));
  EXPECT_TRUE(refused([](Fp8Layout&, HostMatrix& matrix) { matrix.rows = 17; }));
  EXPECT_TRUE(refused([](Fp8Layout& layout, HostMatrix&) { layout.scales = layout.scales.first(63); }));
  EXPECT_TRUE(refused([](Fp8Layout& layout, HostMatrix&) { layout.values = layout.values.first(100); }));
  EXPECT_TRUE(refused([](Fp8Layout& layout, HostMatrix&) { layout.block_inputs = 0; }));
  EXPECT_TRUE(refused([](Fp8Layout& layout, HostMatrix&) { layout.block_inputs = 130; }));
}

INFERFLUX_CPU_TESTS(CpuFp8Test);

}  // namespace
}  // namespace inferflux::compute::testing
