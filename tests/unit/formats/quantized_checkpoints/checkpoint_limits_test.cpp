// Readers of quantised weights at the edges of what they read, and what they say of the rest, word for word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "formats/quantized_checkpoints/checkpoint_values.h"
#include "formats/quantized_checkpoints/fp8.h"
#include "formats/quantized_checkpoints/fused_experts.h"
#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/quantized_checkpoints/mlx_affine.h"
#include "formats/quantized_checkpoints/modelopt_nvfp4.h"
#include "formats/quantized_checkpoints/stacked_experts.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

using D = SafetensorsDtype;
constexpr uint64_t kMost = kMaxTensorDimension;

// A tensor whose shape may say more than its few bytes: enough for what is checked before numbers are read.
struct Made {
  explicit Made(const char* name, D dtype, std::vector<uint64_t> shape, size_t bytes = 8) : data(bytes) {
    tensor = {.name = name, .dtype = dtype, .shape = std::move(shape), .data = data};
  }
  template <class T>
  Made(const char* name, D dtype, std::vector<uint64_t> shape, const std::vector<T>& values)
      : data(values.size() * sizeof(T)) {
    std::memcpy(data.data(), values.data(), data.size());
    tensor = {.name = name, .dtype = dtype, .shape = std::move(shape), .data = data};
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  std::vector<std::byte> data;
  SafetensorsTensor tensor;
};

template <class T>
std::string Said(const Result<T>& result) {
  return result ? "" : result.error().message;
}
std::string Said(const Status& status) { return status ? "" : status.error().message; }

TEST(CheckpointLimits, AKindIsDtypesAndDimensions) {
  const Made matrix("m", D::kU8, {2, 4});
  EXPECT_EQ(Said(CheckKind(matrix.tensor, {D::kI8, D::kU8}, 2)), "");
  EXPECT_EQ(Said(CheckKind(matrix.tensor, {D::kI8, D::kF16}, 2)),
            "tensor 'm' is U8 [2, 4], but should be I8 or F16 of 2 dimensions, not empty");
  EXPECT_EQ(Said(CheckKind(matrix.tensor, {D::kU8}, 3)),
            "tensor 'm' is U8 [2, 4], but should be U8 of 3 dimensions, not empty");
  const Made empty("e", D::kU8, {2, 0}, 0);
  EXPECT_EQ(Said(CheckKind(empty.tensor, {D::kU8}, 2)),
            "tensor 'e' is U8 [2, 0], but should be U8 of 2 dimensions, not empty");
  EXPECT_EQ(Said(CheckShape(matrix.tensor, {2, 4}, empty.tensor)), "");
  for (const auto& shape : {std::initializer_list<uint64_t>{2}, {2, 5}, {3, 4}, {2, 4, 1}}) {
    EXPECT_EQ(Said(CheckShape(matrix.tensor, shape, empty.tensor)),
              fmt::format("tensor 'm' is [2, 4], but 'e' of [2, 0] and the configuration make it [{}]",
                          fmt::join(shape, ", ")));
  }
  EXPECT_EQ(Said(ReadScaleTensor(matrix.tensor)), "tensor 'm' holds U8, but scales are F16, BF16 or F32");
  const Made scales("s", D::kF32, {3}, std::vector<float>{1, 2, std::numeric_limits<float>::infinity()});
  EXPECT_EQ(Said(ReadScaleTensor(scales.tensor)), "tensor 's': value 2 is not finite");
}

std::string Fp8Type(float scale) {
  const Made weight("w", D::kF8E4m3, {2, 4}), scales("s", D::kF32, {1}, std::vector<float>{scale});
  const auto fp8 = Fp8Weights::Open(weight.tensor, scales.tensor, {});
  return fp8 ? fmt::format("{}{}", TensorTypeName(fp8->type()), fp8->layout() ? " as it is" : "") : fp8.error().message;
}

TEST(CheckpointLimits, Fp8IsBf16WhereThatIsExact) {
  EXPECT_EQ(Fp8Type(0.0f), "BF16");
  EXPECT_EQ(Fp8Type(1.0f), "BF16");
  EXPECT_EQ(Fp8Type(-1.9375f), "BF16") << "four significant bits after the point";
  EXPECT_EQ(Fp8Type(1.03125f), "F32 as it is");
  EXPECT_EQ(Fp8Type(0x1p99f), "BF16");
  EXPECT_EQ(Fp8Type(0x1p100f), "F32") << "too large to stay as it is";
  EXPECT_EQ(Fp8Type(-0x1p100f), "F32");
  EXPECT_EQ(Fp8Type(0x1.fffffep99f), "F32 as it is");
  EXPECT_EQ(Fp8Type(0x1p-99f), "BF16");
  EXPECT_EQ(Fp8Type(0x1p-100f), "F32 as it is");
}

TEST(CheckpointLimits, Fp8ScalesHaveOneOfFourShapes) {
  const Made weight("w", D::kF8E4m3, {3, 300}, 900), other("o", D::kF8E5m2, {3, 300}, 900);
  const auto opened = [&](std::vector<uint64_t> shape, std::array<uint32_t, 2> block, bool e5m2 = false) {
    size_t count = 1;
    for (const uint64_t dim : shape) count *= dim;
    const Made scales("s", D::kF32, std::move(shape), std::vector<float>(count, 1.1f));
    const auto fp8 = Fp8Weights::Open(e5m2 ? other.tensor : weight.tensor, scales.tensor, block);
    if (!fp8) return fp8.error().message;
    const auto layout = fp8->layout();
    return layout ? fmt::format("{} {}", layout->block_outputs, layout->block_inputs) : "none";
  };
  EXPECT_EQ(opened({1}, {}), "3 300");
  EXPECT_EQ(opened({1, 1}, {2, 128}), "3 300") << "one scale is of the whole tensor";
  EXPECT_EQ(opened({3}, {}), "1 300");
  EXPECT_EQ(opened({3, 1}, {}), "1 300");
  EXPECT_EQ(opened({1, 3}, {}), "tensor 's' is [1, 3], but 'w' of [3, 300] and the configuration make it [3]");
  EXPECT_EQ(opened({2, 3}, {2, 128}), "2 128");
  EXPECT_EQ(opened({2, 3}, {2, 0}), "tensor 's' is [2, 3], but 'w' of [3, 300] and the configuration make it [3]");
  EXPECT_EQ(opened({2, 3}, {0, 128}), "tensor 's' is [2, 3], but 'w' of [3, 300] and the configuration make it [3]");
  EXPECT_EQ(opened({3, 3}, {2, 128}), "tensor 's' is [3, 3], but 'w' of [3, 300] and the configuration make it [2, 3]");
  EXPECT_EQ(opened({2, 3}, {2, 100}), "none") << "less than a run";
  EXPECT_EQ(opened({1, 2}, {3, 256}), "3 256");
  EXPECT_EQ(opened({2, 1}, {2, 300}), "2 300");
  EXPECT_EQ(opened({2, 1}, {2, 301}), "2 301");
  EXPECT_EQ(opened({1}, {}, true), "none") << "only E4M3";
}

TEST(CheckpointLimits, DimensionsHaveAMost) {
  const Made one("s", D::kF32, {1}, std::vector<float>{1.1f});
  const auto fp8 = [&](uint64_t outputs, uint64_t inputs) {
    const Made weight("w", D::kF8E4m3, {outputs, inputs});
    return Said(Fp8Weights::Open(weight.tensor, one.tensor, {}));
  };
  EXPECT_EQ(fp8(kMost, kMost), "");
  EXPECT_EQ(fp8(kMost + 1, 1), "tensor 'w' is [268435457, 1]; at most 268435456 is read");
  EXPECT_EQ(fp8(1, kMost + 1), "tensor 'w' is [1, 268435457]; at most 268435456 is read");

  const auto bytes = [&](uint64_t outputs, uint64_t inputs) {
    const Made weight("w", D::kI8, {outputs, inputs});
    return Said(GroupwiseInts::OpenCompressed({.weight = &weight.tensor, .scales = &one.tensor}, {}));
  };
  EXPECT_EQ(bytes(kMost, 1), "");
  EXPECT_EQ(bytes(kMost + 1, 1), "tensor 'w' is [268435457, 1]; at most 268435456 is read");
  EXPECT_EQ(bytes(1, kMost + 1), "tensor 'w' is [1, 268435457]; at most 268435456 is read");

  const auto shape = [&](int64_t outputs, int64_t inputs) {
    const Made weight("w", D::kI32, {1, 1}), of("x", D::kI64, {2}, std::vector<int64_t>{outputs, inputs});
    return Said(
        GroupwiseInts::OpenCompressed({.weight = &weight.tensor, .scales = &one.tensor, .shape = &of.tensor}, {}));
  };
  const std::string says = "tensor 'x' says [{}, {}]; dimensions of 1 to 268435456 are read";
  EXPECT_EQ(shape(0, 8), fmt::format(fmt::runtime(says), 0, 8));
  EXPECT_EQ(shape(8, 0), fmt::format(fmt::runtime(says), 8, 0));
  EXPECT_EQ(shape(int64_t{kMost} + 1, 8), fmt::format(fmt::runtime(says), kMost + 1, 8));
  EXPECT_EQ(shape(8, int64_t{kMost} + 1), fmt::format(fmt::runtime(says), 8, kMost + 1));
  EXPECT_EQ(shape(int64_t{kMost}, 1),
            "tensor 'w' is [1, 1], which are not numbers of 2, 4 or 8 bits for 'x' of [268435456, 1]");
  EXPECT_EQ(shape(2, 8), "tensor 'w' is [1, 1], which are not numbers of 2, 4 or 8 bits for 'x' of [2, 8]");

  const auto nvfp4 = [&](uint64_t outputs, uint64_t packed) {
    const Made weight("w", D::kU8, {outputs, packed}), scales("s", D::kF8E4m3, {1, 1});
    return Said(Nvfp4::Open(weight.tensor, scales.tensor, one.tensor, Nvfp4::ScaleUse::kMultiplies)).substr(0, 40);
  };
  const std::string groups = "tensor 'w' is [{}, {}]; groups of 8 bytes are read, and dimensions of at most 268435456";
  EXPECT_EQ(nvfp4(kMost + 1, 8), fmt::format(fmt::runtime(groups), kMost + 1, 8).substr(0, 40));
  EXPECT_EQ(nvfp4(1, kMost / 2 + 8), fmt::format(fmt::runtime(groups), 1, kMost / 2 + 8).substr(0, 40));
  EXPECT_EQ(nvfp4(1, 12), fmt::format(fmt::runtime(groups), 1, 12).substr(0, 40));
  EXPECT_EQ(nvfp4(kMost, 8), "tensor 's' is [1, 1], but 'w' of [268435") << "as many as may be";
  EXPECT_EQ(nvfp4(2, kMost / 2), "tensor 's' is [1, 1], but 'w' of [2, 134");

  const auto mlx = [&](uint64_t outputs, uint64_t words, uint64_t of_groups, int64_t size = 64) {
    const Made weight("w", D::kU32, {outputs, words}), scales("s", D::kF32, {1, of_groups}),
        biases("b", D::kF32, {1, of_groups});
    return Said(MlxAffineWeights::Open(weight.tensor, scales.tensor, biases.tensor, size));
  };
  const std::string three = "tensor 'w' is [{}, {}], and its scales [1, {}]; dimensions of at most 268435456 are read";
  EXPECT_EQ(mlx(kMost + 1, 1, 1), fmt::format(fmt::runtime(three), kMost + 1, 1, 1));
  EXPECT_EQ(mlx(1, kMost + 1, 1), fmt::format(fmt::runtime(three), 1, kMost + 1, 1));
  EXPECT_EQ(mlx(1, 1, kMost / 64 + 1), fmt::format(fmt::runtime(three), 1, 1, kMost / 64 + 1));
  EXPECT_EQ(mlx(kMost, 1, 1),
            "tensor 's' is [1, 1], but 'w' of [268435456, 1] and the configuration make it [268435456, 1]");
  EXPECT_EQ(mlx(2, kMost, kMost / 64).substr(0, 17), "tensor 's' is [1,");
  EXPECT_EQ(mlx(1, 8, 1, 48), "tensor 'w': groups of 48 inputs are not supported; supported are 32, 64 and 128");
  for (const uint64_t words : {2, 14, 18}) {  // 1, 7 and 9 bits
    EXPECT_EQ(mlx(1, words, 1),
              fmt::format(
                  "tensor 'w' has {} words for 64 inputs in groups of 64: they must have 2, 3, 4, 5, 6 or 8 bits each",
                  words));
  }
  EXPECT_EQ(mlx(1, 7, 1).substr(0, 24), "tensor 'w' has 7 words f") << "three and a half bits";
}

TEST(CheckpointLimits, BitsAndGroupsOfGptqAndAwq) {
  using Packing = GroupwiseIntsFormat::Packing;
  const auto said = [](GroupwiseIntsFormat format, std::vector<uint64_t> shape = {8, 8}) {
    const Made weight("w", D::kI32, std::move(shape)), zeros("z", D::kI32, {9, 9}), scales("s", D::kF16, {2, 8});
    return Said(
        GroupwiseInts::Open({.qweight = &weight.tensor, .qzeros = &zeros.tensor, .scales = &scales.tensor}, format));
  };
  EXPECT_EQ(said({Packing::kGptq, 5, 32, 1}),
            "tensor 'w': weights of 5 bits are not supported; supported are 2, 4 and 8");
  for (const uint32_t bits : {2, 8})
    EXPECT_EQ(said({Packing::kAwq, bits, 32, 0}),
              fmt::format("tensor 'w': weights of {} bits are not supported; supported are 4", bits));
  EXPECT_EQ(said({Packing::kGptq, 4, -2, 1}), "tensor 'w': a group_size of -2");
  EXPECT_EQ(said({Packing::kGptq, 4, 0, 1}), "tensor 'w': a group_size of 0");
  const std::string zeros = "tensor 'z' is [9, 9], but 'w' of [8, 8] and the configuration make it ";
  EXPECT_EQ(said({Packing::kGptq, 4, -1, 1}), zeros + "[1, 1]");
  EXPECT_EQ(said({Packing::kGptq, 4, 1, 1}), zeros + "[64, 1]");
  EXPECT_EQ(said({Packing::kGptq, 4, 48, 1}), zeros + "[2, 1]");
  EXPECT_EQ(said({Packing::kGptq, 2, 64, 1}), zeros + "[2, 1]");
  EXPECT_EQ(said({Packing::kGptq, 8, 32, 1}), zeros + "[1, 2]");
  EXPECT_EQ(said({Packing::kAwq, 4, 4, 0}), zeros + "[2, 8]");
  EXPECT_EQ(said({Packing::kGptq, 4, 32, 1}, {kMost + 1, 8}),
            "tensor 'w' is [268435457, 8]; at most 268435456 is read");
  EXPECT_EQ(said({Packing::kGptq, 4, 32, 1}, {8, kMost + 1}),
            "tensor 'w' is [8, 268435457]; at most 268435456 is read");
  EXPECT_EQ(said({Packing::kGptq, 4, -1, 1}, {kMost, kMost}),
            "tensor 'z' is [9, 9], but 'w' of [268435456, 268435456] and the configuration make it [1, 33554432]");
}

TEST(CheckpointLimits, StacksOfExpertsAreCut) {
  std::vector<uint32_t> words(2 * 3 * 4);
  std::vector<uint8_t> exponents(2 * 3), bytes(words.size() * 4);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 11);
  for (size_t i = 0; i < exponents.size(); ++i) exponents[i] = static_cast<uint8_t>(100 + i);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const Made of_words("w", D::kU32, {2, 3, 4}, words), of_exponents("e", D::kU8, {2, 3}, exponents),
      stack("e", D::kU8, {2, 3, 1}, exponents), blocks("b", D::kU8, {2, 3, 1, 16}, bytes);
  for (const uint64_t expert : {0, 1}) {
    const auto from_words = Mxfp4Expert::OpenWords(of_words.tensor, stack.tensor, expert);
    const auto from_blocks = Mxfp4Expert::Open(blocks.tensor, stack.tensor, expert, {});
    ASSERT_TRUE(from_words && from_blocks);
    EXPECT_EQ(from_words->outputs(), 3);
    EXPECT_EQ(from_words->inputs(), 32);
    EXPECT_EQ(from_words->Read(), from_blocks->Read());
    EXPECT_EQ(from_words->Read()[17], static_cast<std::byte>(exponents[expert * 3 + 1]));
  }
  EXPECT_EQ(Said(Mxfp4Expert::OpenWords(of_words.tensor, stack.tensor, 2)),
            "tensor 'w' is [2, 3, 1, 16]; blocks of 16 bytes, for expert 2 too, are read");
  EXPECT_EQ(Said(Mxfp4Expert::OpenWords(Made("w", D::kU32, {2, 3, 6}, 144).tensor, stack.tensor, 0)),
            "tensor 'w' has rows of 6 words, which are not whole blocks of 4");
  EXPECT_EQ(Said(Mxfp4Expert::OpenWords(of_words.tensor, of_exponents.tensor, 0)),
            "tensor 'e' is U8 [2, 3], but should be U8 of 3 dimensions, not empty");
  EXPECT_EQ(Said(Mxfp4Expert::Open(Made("b", D::kU8, {2, 3, 1, 15}, 90).tensor, stack.tensor, 0, {})),
            "tensor 'b' is [2, 3, 1, 15]; blocks of 16 bytes, for expert 0 too, are read");
  const auto wide = [](uint64_t row_blocks) {
    const Made many("b", D::kU8, {1, 1, row_blocks, 16}), scales("e", D::kU8, {1, 1, row_blocks});
    return Said(Mxfp4Expert::Open(many.tensor, scales.tensor, 0, {}));
  };
  EXPECT_EQ(wide(kMost / 32), "");
  EXPECT_EQ(wide(kMost / 32 + 1), "tensor 'b' is [1, 1, 8388609, 16]; blocks of 16 bytes, for expert 0 too, are read");

  const Made biases("x", D::kF32, {2, 4}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  const auto odd = ExpertBiases::Open(biases.tensor, {.first = 1, .step = 2});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->outputs(), 2);
  EXPECT_EQ(odd->inputs(), 2);
  EXPECT_EQ(odd->type(), TensorType::kF32);
  EXPECT_EQ(CheckpointFloats(odd->type(), odd->Read(), 2, 2), (std::vector<float>{1, 3, 5, 7}));
  const auto all = ExpertBiases::Open(biases.tensor, {});
  EXPECT_EQ(CheckpointFloats(all->type(), all->Read(), 2, 4), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Said(ExpertBiases::Open(biases.tensor, {.first = 0, .step = 3})),
            "tensor 'x' has 4 rows for each expert, which are not alternating rows of 3 projections");
  EXPECT_EQ(Said(ExpertBiases::Open(stack.tensor, {})),
            "tensor 'e' is U8 [2, 3, 1], but should be F16 or BF16 or F32 of 2 dimensions, not empty");

  const auto second = SliceExpert(biases.tensor, 1);
  EXPECT_EQ(Said(second), "tensor 'x' is F32 [2, 4], but should be F32 of 3 dimensions, not empty");
  const auto slice = SliceExpert(stack.tensor, 1);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->shape, (std::vector<uint64_t>{3, 1}));
  EXPECT_EQ(slice->data.size(), 3u);
  EXPECT_EQ(slice->data[0], std::byte{103});
  EXPECT_EQ(Said(SliceExpert(stack.tensor, 2)), "tensor 'e' has 2 experts, but expert 2 is needed");
}

TEST(CheckpointLimits, StacksOfMlxHaveTheirOwnScales) {
  const Made words("w", D::kU32, {2, 3, 8}, 192);
  const auto said = [&](std::vector<uint64_t> scales_shape, std::vector<uint64_t> biases_shape) {
    const Made scales("s", D::kF32, std::move(scales_shape), 24), biases("b", D::kF32, std::move(biases_shape), 24);
    return Said(MlxAffineWeights::OpenExpert(words.tensor, scales.tensor, biases.tensor, 64, 1));
  };
  EXPECT_EQ(said({2, 3, 1}, {2, 3, 1}), "");
  EXPECT_EQ(said({3, 2, 1}, {2, 3, 1}),
            "tensor 's' is [3, 2, 1], but 'w' of [2, 3, 8] and the configuration make it [2, 3, 1]");
  EXPECT_EQ(said({2, 3, 1}, {2, 1, 3}),
            "tensor 'b' is [2, 1, 3], but 'w' of [2, 3, 8] and the configuration make it [2, 3, 1]");
}

TEST(CheckpointLimits, ATensorScaleIsOneNumber) {
  const TensorScale scale{.value = 0.75f};
  const auto bytes = scale.Read();
  float read = 0;
  ASSERT_EQ(bytes.size(), sizeof read);
  std::memcpy(&read, bytes.data(), sizeof read);
  EXPECT_EQ(read, 0.75f);
}

}  // namespace
}  // namespace inferflux::formats
