// The operations on rows of floats, compared with the reference, at widths that fill vectors and that do not.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

class CpuRowsTest : public CpuTest {};

constexpr int64_t kWidths[] = {1, 3, 16, 31, 64, 200, 2048};

TEST_P(CpuRowsTest, AddScaleAndBias) {
  for (const int64_t width : kWidths) {
    const auto a = Random(37, width);
    const auto b = Random(37, width);
    const auto bias = Random(1, width);
    EXPECT_TRUE(SameBits(Cpu::Add(cpu, a, b), Reference::Add(reference, a, b)));
    EXPECT_TRUE(SameBits(Cpu::AddBias(cpu, a, bias), Reference::AddBias(reference, a, bias)));
    EXPECT_TRUE(SameBits(Cpu::ScaleColumns(cpu, a, bias), Reference::ScaleColumns(reference, a, bias)));
    EXPECT_TRUE(SameBits(Cpu::Scale(cpu, a, 0.37f), Reference::Scale(reference, a, 0.37f)));
  }
}

TEST_P(CpuRowsTest, GatherColumnsInAnyOrder) {
  const auto x = Random(37, 200);
  std::vector<int32_t> columns(200);
  for (int32_t i = 0; i < 200; ++i) columns[static_cast<size_t>(i)] = (i * 67 + 5) % 200;
  const auto gathered = Cpu::GatherColumns(cpu, x, columns);
  for (int64_t r = 0; r < 37; ++r) {
    for (size_t c = 0; c < columns.size(); ++c) {
      ASSERT_EQ(host::View(gathered).row(r)[c], host::View(x).row(r)[columns[c]]) << r << ", " << c;
    }
  }
}

TEST_P(CpuRowsTest, RmsNormOfRowsAndOfHeads) {
  for (const int64_t width : kWidths) {
    const auto x = Random(9, 4 * width);
    for (const int64_t weights : {width, 4 * width}) {
      const auto weight = Random(1, weights);
      EXPECT_LT(RelativeError(Cpu::RmsNorm(cpu, x, weight, 1e-5f), Reference::RmsNorm(reference, x, weight, 1e-5f)),
                1e-6);
    }
  }
}

TEST_P(CpuRowsTest, GatesOverTheWholeRangeOfFloats) {
  const std::vector<float> values{0.0f,  -0.0f, 1e-30f, -1e-8f, 0.5f,   -0.5f, 3.0f,
                                  -7.5f, 20.0f, -20.0f, 87.0f,  -90.0f, 1e4f,  -1e4f};
  const auto count = static_cast<int64_t>(values.size());
  host::Buffer gate = cpu.arena.Allocate(1, count);
  std::copy(values.begin(), values.end(), gate.row(0));
  const auto up = Random(1, count);
  const auto wide_gate = Random(5, 300);
  const auto wide_up = Random(5, 300);
  for (const Activation kind :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf, Activation::kReluSquared, Activation::kSigmoid,
        Activation::kExpExcess, Activation::kClampedSwiglu}) {
    const auto actual = Cpu::Gate(cpu, gate, up, kind);
    const auto expected = Reference::Gate(reference, gate, up, kind);
    for (int64_t i = 0; i < count; ++i) {
      const float want = host::View(expected).data[i];
      EXPECT_NEAR(host::View(actual).data[i], want, 1e-6f + 2e-6f * std::abs(want)) << values[i];
    }
    EXPECT_LT(
        RelativeError(Cpu::Gate(cpu, wide_gate, wide_up, kind), Reference::Gate(reference, wide_gate, wide_up, kind)),
        1e-6);
  }
}

// As exact as floats allow, down to results below the normal range; NaN stays NaN.
TEST_P(CpuRowsTest, SiluIsRightToAFewUnitsInTheLastPlace) {
  constexpr int64_t kCount = 100'003;
  host::Buffer x = cpu.arena.Allocate(1, kCount);
  for (int64_t i = 0; i < kCount; ++i) x.row(0)[i] = -85.0f + 170.0f * static_cast<float>(i) / kCount;
  const auto actual = Cpu::Activate(cpu, x, Activation::kSilu);
  double worst = 0.0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double in = x.row(0)[i];
    const double want = in / (1.0 + std::exp(-in));
    if (want != 0.0) worst = std::max(worst, std::abs(host::View(actual).data[i] / want - 1.0));
  }
  EXPECT_LT(worst, 4e-7);
  x.row(0)[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(host::View(Cpu::Activate(cpu, x, Activation::kSilu)).data[5]));
}

// Where e^x - 1 - x cancels, too.
TEST_P(CpuRowsTest, ExpExcessIsRightToAFewUnitsInTheLastPlace) {
  constexpr int64_t kCount = 10'007;
  host::Buffer x = cpu.arena.Allocate(1, kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    x.row(0)[i] = static_cast<float>(-std::pow(10.0, -6.0 + 8.0 * static_cast<double>(i) / kCount));
  }
  const auto actual = Cpu::Activate(cpu, x, Activation::kExpExcess);
  double worst = 0.0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double in = x.row(0)[i], want = in > -1e-3 ? in * in / 2 * (1 + in / 3) : std::expm1(in) - in;
    worst = std::max(worst, std::abs(host::View(actual).data[i] / want - 1.0));
  }
  EXPECT_LT(worst, 2e-6);
  x.row(0)[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(host::View(Cpu::Activate(cpu, x, Activation::kExpExcess)).data[5]));
}

TEST_P(CpuRowsTest, ActivationsSoftCapAndLayerNorm) {
  for (const int64_t width : kWidths) {
    const auto x = Random(9, width);
    for (const Activation kind : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                  Activation::kReluSquared, Activation::kSigmoid, Activation::kExpExcess}) {
      EXPECT_LT(RelativeError(Cpu::Activate(cpu, x, kind), Reference::Activate(reference, x, kind)), 2e-6);
    }
    EXPECT_LT(RelativeError(Cpu::SoftCap(cpu, x, 1.7f), Reference::SoftCap(reference, x, 1.7f)), 1e-6);
    const auto weight = Random(1, width);
    const auto bias = Random(1, width);
    EXPECT_LT(RelativeError(Cpu::LayerNorm(cpu, x, weight, bias, 1e-3f),
                            Reference::LayerNorm(reference, x, weight, bias, 1e-3f)),
              2e-6);
  }
}

TEST_P(CpuRowsTest, ExpertsTakeTheRowsThatAreRoutedToThem) {
  std::vector<OwnedMatrix> owned;
  std::vector<std::vector<HostMatrix>> parts;
  for (int e = 0; e < 5; ++e) owned.push_back(RandomMatrix(formats::TensorType::kF32, random, 40, 64));
  for (const OwnedMatrix& each : owned) parts.push_back({each.matrix});
  const auto actual = *Cpu::LoadExperts(cpu, parts);
  const auto expected = *Reference::LoadExperts(reference, parts);
  const auto logits = Random(17, 5);
  const auto routing = Cpu::Route(cpu, logits, {.used = 2, .normalise = true});
  for (const int rows : {17, 34}) {  // a row per token, or one per chosen expert
    const auto x = Random(rows, 64);
    EXPECT_LT(RelativeError(Cpu::ExpertMatMul(cpu, x, actual, routing),
                            Reference::ExpertMatMul(reference, x, expected, routing)),
              1e-6);
  }
}

TEST_P(CpuRowsTest, RopeInBothStylesAndOfPartOfAHead) {
  StepGeometry step;
  for (int r = 0; r < 11; ++r) step.positions.push_back(r * 997);
  step.tokens.resize(11);
  for (const int32_t head_dim : {8, 64, 96, 128}) {
    for (const int32_t rotated : {head_dim, head_dim / 2}) {
      RopeSpec spec{.inverse_frequencies = {}, .magnitude = 1.1f};
      for (int i = 0; i < rotated / 2; ++i) spec.inverse_frequencies.push_back(std::pow(1e4f, -2.0f * i / rotated));
      const auto angles = Cpu::RopeAngles(cpu, step, spec);
      EXPECT_TRUE(SameBits(angles, Reference::RopeAngles(reference, step, spec)));
      const auto x = Random(11, 3 * head_dim);
      for (const RopeStyle style : {RopeStyle::kHalves, RopeStyle::kInterleaved}) {
        const RopeParams params{3, head_dim, style};
        EXPECT_LT(RelativeError(Cpu::Rope(cpu, x, angles, params), Reference::Rope(reference, x, angles, params)), 1e-6)
            << head_dim << " of which " << rotated;
      }
    }
  }
}

TEST_P(CpuRowsTest, EmbedsRowsOfAnyType) {
  using formats::TensorType;
  StepGeometry step{.tokens = {0, 49, 7, 7}, .positions = {0, 1, 2, 3}};
  for (const TensorType type : {TensorType::kF32, TensorType::kBf16, TensorType::kQ6_K, TensorType::kQ5_0}) {
    const OwnedMatrix table = RandomMatrix(type, random, 50, 256);
    const auto actual = *Cpu::LoadTable(cpu, table.matrix);
    const auto expected = *Reference::LoadTable(reference, table.matrix);
    EXPECT_TRUE(SameBits(Cpu::Embed(cpu, actual, step), Reference::Embed(reference, expected, step)));
  }
}

// Keys and values are stored identically on every instruction set, including subnormals, ties, overflow and NaN.
TEST_P(CpuRowsTest, RoundsToHalvesAsTheScalarConversionDoes) {
  std::vector<float> values{0.0f,        -0.0f,        65504.0f,    65519.9f,   65520.0f,
                            -1e9f,       INFINITY,     0x1p-24f,    0x1.8p-24f, 0x1p-25f,
                            -0x1.1p-25f, 0x1.ffep-15f, 0x1.0018p0f, 0x1.002p0f, 0x1.006p0f};
  std::uniform_int_distribution<uint32_t> bits(0, 0x7f7fffff);
  while (values.size() < 1003) values.push_back(std::bit_cast<float>(bits(random)));
  std::vector<Fp16> rounded(values.size());
  cpu.kernels.round_fp16(values.data(), static_cast<int64_t>(values.size()), rounded.data());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(rounded[i].bits, ToFp16(values[i]).bits) << values[i];
}

TEST_P(CpuRowsTest, GathersRows) {
  const auto x = Random(6, 33);
  const std::vector<int32_t> rows{5, 0, 5};
  EXPECT_TRUE(SameBits(Cpu::GatherRows(cpu, x, rows), Reference::GatherRows(reference, x, rows)));
}

INFERFLUX_CPU_TESTS(CpuRowsTest);

}  // namespace
}  // namespace inferflux::compute::testing
