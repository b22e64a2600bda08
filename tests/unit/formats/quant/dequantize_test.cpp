// Every block type gives, bit for bit, the results of PyPI's `gguf` (tools/quant_golden.py makes the files).
#include "formats/quant/dequantize.h"

#include <gtest/gtest.h>

#include <bit>

#include "formats/golden_files.h"
#include "formats/quant/blocks.h"
#include "formats/tensor_type.h"

namespace inferflux::formats {
namespace {

class DequantizeGolden : public ::testing::TestWithParam<TensorType> {};

TEST_P(DequantizeGolden, EqualsTheReferenceBitForBit) {
  const TensorTypeTraits& traits = Traits(GetParam());
  const std::vector<std::byte> file = testing::ReadGolden(fmt::format("quants/{}.decode", traits.name));
  constexpr int64_t kValues = 4096;
  const auto block_bytes = *RowBytes(GetParam(), kValues);
  ASSERT_EQ(file.size(), block_bytes + kValues * sizeof(float));
  std::vector<float> values(kValues);
  DequantizeRow(GetParam(), file.data(), values.data(), kValues);
  const auto* expected = reinterpret_cast<const float*>(file.data() + block_bytes);
  for (int64_t i = 0; i < kValues; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << values[i] << " is not " << expected[i];
  }
}

INSTANTIATE_TEST_SUITE_P(AllBlockTypes, DequantizeGolden,
                         ::testing::Values(TensorType::kF16, TensorType::kBf16, TensorType::kQ4_0, TensorType::kQ4_1,
                                           TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0, TensorType::kQ2_K,
                                           TensorType::kQ3_K, TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K,
                                           TensorType::kTq1_0, TensorType::kTq2_0, TensorType::kIq4Nl,
                                           TensorType::kIq4Xs, TensorType::kMxfp4, TensorType::kNvfp4,
                                           TensorType::kIq2Xxs, TensorType::kIq2Xs, TensorType::kIq2S,
                                           TensorType::kIq3Xxs, TensorType::kIq3S, TensorType::kIq1S,
                                           TensorType::kIq1M),
                         [](const auto& info) { return std::string(TensorTypeName(info.param)); });

TEST(Dequantize, ReadsPlainNumbersOfEveryWidth) {
  const auto first = [](TensorType type, auto value) {
    float out = 0;
    DequantizeRow(type, reinterpret_cast<const std::byte*>(&value), &out, 1);
    return out;
  };
  EXPECT_EQ(first(TensorType::kF32, -1.5f), -1.5f);
  EXPECT_EQ(first(TensorType::kF64, 0.25), 0.25f);
  EXPECT_EQ(first(TensorType::kI8, int8_t{-3}), -3.0f);
  EXPECT_EQ(first(TensorType::kI16, int16_t{-300}), -300.0f);
  EXPECT_EQ(first(TensorType::kI32, int32_t{70000}), 70000.0f);
  EXPECT_EQ(first(TensorType::kI64, int64_t{1} << 40), 0x1p40f);
}

TEST(Dequantize, KnowsEveryType) {
  for (const TensorTypeTraits& traits : AllTensorTypes()) EXPECT_TRUE(CanDequantize(traits.type)) << traits.name;
}

TEST(TensorType, BlockSizesMatchTheStructs) {
  EXPECT_EQ(*RowBytes(TensorType::kQ4_K, 512), 2 * sizeof(BlockQ4_K));
  EXPECT_EQ(*RowBytes(TensorType::kIq1M, 256), sizeof(BlockIq1M));
  EXPECT_EQ(*RowBytes(TensorType::kNvfp4, 64), sizeof(BlockNvfp4));
  EXPECT_FALSE(RowBytes(TensorType::kQ4_K, 255));
  EXPECT_FALSE(RowBytes(TensorType::kF64, uint64_t{1} << 62));
}

TEST(TensorType, IdsAndNames) {
  for (const TensorTypeTraits& traits : AllTensorTypes()) {
    EXPECT_EQ(*TensorTypeFromId(static_cast<uint32_t>(traits.type)), traits.type);
    EXPECT_EQ(TensorTypeFromName(traits.name), traits.type);
  }
  EXPECT_EQ(TensorTypeFromName("iq4_nl"), TensorType::kIq4Nl);
  EXPECT_EQ(TensorTypeFromName("Q4"), std::nullopt);
  EXPECT_NE(TensorTypeFromId(31).error().message.find("left the GGUF format"), std::string::npos);
  EXPECT_FALSE(TensorTypeFromId(1000));
}

}  // namespace
}  // namespace inferflux::formats
