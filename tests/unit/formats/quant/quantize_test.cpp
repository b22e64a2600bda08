// The quantisers: bit for bit the reference's results for simple rules; otherwise a round-trip error below a given
// bound.
#include "formats/quant/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "formats/golden_files.h"
#include "formats/quant/dequantize.h"

namespace inferflux::formats {
namespace {

std::vector<std::byte> Quantize(TensorType type, const std::vector<float>& values, const float* importance = nullptr) {
  std::vector<std::byte> blocks(*RowBytes(type, values.size()));
  QuantizeRow(type, values.data(), importance, blocks.data(), static_cast<int64_t>(values.size()));
  return blocks;
}

std::vector<float> Dequantize(TensorType type, const std::vector<std::byte>& blocks, size_t n) {
  std::vector<float> values(n);
  DequantizeRow(type, blocks.data(), values.data(), static_cast<int64_t>(n));
  return values;
}

double WeightedError(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& weights) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double w = weights.empty() ? 1.0 : weights[i];
    error += w * (a[i] - b[i]) * (a[i] - b[i]);
    norm += w * a[i] * a[i];
  }
  return std::sqrt(error / norm);
}

std::vector<float> GoldenRows() {
  const auto bytes = testing::ReadGolden("quants/rows.f32");
  const auto* floats = reinterpret_cast<const float*>(bytes.data());
  return {floats, floats + bytes.size() / sizeof(float)};
}

std::vector<float> NormalValues(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

class QuantizeGolden : public ::testing::TestWithParam<TensorType> {};

TEST_P(QuantizeGolden, EqualsTheReferenceBitForBit) {
  const auto expected = testing::ReadGolden(fmt::format("quants/{}.encode", TensorTypeName(GetParam())));
  const auto actual = Quantize(GetParam(), GoldenRows());
  ASSERT_EQ(actual.size(), expected.size());
  const uint32_t block_bytes = Traits(GetParam()).block_bytes;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i], expected[i]) << "byte " << i % block_bytes << " of block " << i / block_bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(PlainRules, QuantizeGolden,
                         ::testing::Values(TensorType::kF16, TensorType::kBf16, TensorType::kQ4_0, TensorType::kQ4_1,
                                           TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0, TensorType::kTq1_0,
                                           TensorType::kTq2_0),
                         [](const auto& info) { return std::string(TensorTypeName(info.param)); });

struct Bound {
  TensorType type;
  double relative_error;  // root of squared error over squared values, of normally distributed values
};

class QuantizeError : public ::testing::TestWithParam<Bound> {};

// The bounds are the errors of llama.cpp's quantisers on the same distribution (ggml-quants.c of August 2026).
TEST_P(QuantizeError, IsNoWorseThanLlamaCpp) {
  const auto values = NormalValues(256 * 256, 20261121);
  const auto blocks = Quantize(GetParam().type, values);
  EXPECT_LE(WeightedError(values, Dequantize(GetParam().type, blocks, values.size()), {}), GetParam().relative_error);
}

// Importance moves the error to columns of less weight.
TEST_P(QuantizeError, FollowsImportance) {
  const auto values = NormalValues(256 * 64, 7);
  std::mt19937_64 random(8);
  std::lognormal_distribution<float> skewed(0.0f, 2.0f);
  std::vector<float> importance(values.size());
  for (float& weight : importance) weight = skewed(random);
  const TensorType type = GetParam().type;
  const auto plain = Dequantize(type, Quantize(type, values), values.size());
  const auto guided = Dequantize(type, Quantize(type, values, importance.data()), values.size());
  EXPECT_LT(WeightedError(values, guided, importance), 0.97 * WeightedError(values, plain, importance));
  const std::vector<float> none(values.size(), 0.0f);
  const auto unguided = Dequantize(type, Quantize(type, values, none.data()), values.size());
  EXPECT_LT(WeightedError(values, unguided, {}), 1.1 * WeightedError(values, plain, {})) << "importance 0 everywhere";
}

INSTANTIATE_TEST_SUITE_P(FittedTypes, QuantizeError,
                         ::testing::Values(Bound{TensorType::kQ2_K, 0.2967}, Bound{TensorType::kQ3_K, 0.1510},
                                           Bound{TensorType::kQ4_K, 0.07141}, Bound{TensorType::kQ5_K, 0.03615},
                                           Bound{TensorType::kQ6_K, 0.01778}, Bound{TensorType::kIq4Nl, 0.07630},
                                           Bound{TensorType::kIq4Xs, 0.07689}),
                         [](const auto& info) { return std::string(TensorTypeName(info.param.type)); });

TEST(Quantize, Mxfp4IsNoWorseThanTheReference) {
  const auto rows = GoldenRows();
  const auto reference = Dequantize(TensorType::kMxfp4, testing::ReadGolden("quants/MXFP4.encode"), rows.size());
  const auto ours = Dequantize(TensorType::kMxfp4, Quantize(TensorType::kMxfp4, rows), rows.size());
  EXPECT_LE(WeightedError(rows, ours, {}), WeightedError(rows, reference, {}));
}

// Zeros, constants, one huge value, values too small for a float16 scale: finite results, and zero stays zero.
TEST(Quantize, StrangeRowsStayFinite) {
  std::vector<std::vector<float>> rows(6, std::vector<float>(256, 0.0f));
  std::fill(rows[1].begin(), rows[1].end(), 3.0f);
  std::fill(rows[2].begin(), rows[2].end(), -3.0f);
  rows[3][100] = 60000.0f;
  for (size_t i = 0; i < 256; ++i) rows[4][i] = 1e-38f * static_cast<float>(i);
  for (size_t i = 0; i < 256; ++i) rows[5][i] = i % 2 == 0 ? 1e-42f : -1e-30f;
  for (const TensorTypeTraits& traits : AllTensorTypes()) {
    if (!CanQuantize(traits.type)) continue;
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto values = Dequantize(traits.type, Quantize(traits.type, rows[row]), 256);
      for (size_t i = 0; i < 256; ++i) {
        ASSERT_TRUE(std::isfinite(values[i])) << traits.name << " row " << row << " element " << i;
        const float slack = row == 1 || row == 2 ? 0.15f : row == 0 ? 0.0f : 1e5f;
        ASSERT_NEAR(values[i], rows[row][i], slack) << traits.name << " row " << row;
      }
    }
  }
}

// A row that a format can represent exactly must survive unchanged: the search must find the grid of its values.
TEST(Quantize, RecoversWhatTheFormatHolds) {
  std::mt19937_64 random(3);
  std::vector<float> ternary(256);
  for (float& value : ternary) value = 0.5f * static_cast<float>(static_cast<int>(random() % 3) - 1);
  for (const TensorType type : {TensorType::kTq1_0, TensorType::kTq2_0, TensorType::kQ2_K, TensorType::kQ5_K}) {
    const auto values = Dequantize(type, Quantize(type, ternary), 256);
    for (size_t i = 0; i < 256; ++i) ASSERT_NEAR(values[i], ternary[i], 2e-3) << TensorTypeName(type);
  }
}

}  // namespace
}  // namespace inferflux::formats
