// Quantised weights of checkpoints, compared with the published formulas (tools/checkpoint_golden.py), bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "formats/quantized_checkpoints/checkpoint_values.h"
#include "formats/quantized_checkpoints/fp8.h"
#include "formats/quantized_checkpoints/fused_experts.h"
#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/quantized_checkpoints/mlx_affine.h"
#include "formats/quantized_checkpoints/stacked_experts.h"

namespace inferflux::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Packing = GroupwiseIntsFormat::Packing;

const SafetensorsFile& Weights() {
  static const auto file = OpenCheckpointData("weights.safetensors");
  return *file;
}
const SafetensorsFile& MlxWeights() {  // from tools/mlx_golden.py
  static const auto file = OpenCheckpointData("mlx.safetensors");
  return *file;
}

template <class Weight>
void ExpectValues(const Weight& weight, const std::string& name, const SafetensorsFile& weights = Weights()) {
  ExpectCheckpointValues(weight, name, weights);
}

struct IntCase {
  const char* name;
  GroupwiseIntsFormat format;
  TensorType type;  // the smallest that holds the values
};

class Ints : public ::testing::TestWithParam<IntCase> {};

GroupwiseIntsTensors TensorsOf(const std::string& name) {
  return {.qweight = Weights().FindTensor(name + ".qweight"),
          .qzeros = Weights().FindTensor(name + ".qzeros"),
          .scales = Weights().FindTensor(name + ".scales"),
          .group_of = Weights().FindTensor(name + ".g_idx")};
}

TEST_P(Ints, AreWhatTheFormulaSays) {
  const auto ints = GroupwiseInts::Open(TensorsOf(GetParam().name), GetParam().format);
  ASSERT_TRUE(ints) << ints.error().message;
  EXPECT_EQ(ints->type(), GetParam().type);
  ExpectValues(*ints, GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(All, Ints,
                         ::testing::Values(IntCase{"gptq_32", {Packing::kGptq, 4, 32, 1}, TensorType::kQ8_0},
                                           IntCase{"gptq_64_symmetric", {Packing::kGptq, 4, 64, 1}, TensorType::kQ4_0},
                                           IntCase{"gptq_128_v2", {Packing::kGptq, 4, 128, 0}, TensorType::kQ8_0},
                                           IntCase{"gptq_whole", {Packing::kGptq, 4, -1, 1}, TensorType::kQ4_0},
                                           IntCase{"gptq_32_desc_act", {Packing::kGptq, 4, 32, 1}, TensorType::kF32},
                                           IntCase{
                                               "gptq_128_desc_act_v2", {Packing::kGptq, 4, 128, 0}, TensorType::kF32},
                                           IntCase{"gptq_8_bits", {Packing::kGptq, 8, 32, 1}, TensorType::kQ8_0},
                                           IntCase{"gptq_8_bits_wide", {Packing::kGptq, 8, 32, 1}, TensorType::kF32},
                                           IntCase{"gptq_2_bits", {Packing::kGptq, 2, 32, 1}, TensorType::kQ4_0},
                                           IntCase{"awq_32", {Packing::kAwq, 4, 32, 0}, TensorType::kQ8_0},
                                           IntCase{"awq_64", {Packing::kAwq, 4, 64, 0}, TensorType::kQ8_0},
                                           IntCase{"awq_128", {Packing::kAwq, 4, 128, 0}, TensorType::kQ4_0}),
                         [](const auto& info) { return std::string(info.param.name); });

// Weights with act-order, with the inputs in the order of their groups.
struct OrderedCase {
  const char* name;
  GroupwiseIntsFormat format;
  TensorType type;
};

class OrderedInts : public ::testing::TestWithParam<OrderedCase> {};

TEST_P(OrderedInts, AreTheSameWeightsInAnotherOrder) {
  const auto ints = GroupwiseInts::Open(TensorsOf(GetParam().name), GetParam().format);
  ASSERT_TRUE(ints) << ints.error().message;
  ExpectSameInOrder(*ints, GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(
    All, OrderedInts,
    ::testing::Values(OrderedCase{"gptq_32_desc_act", {Packing::kGptq, 4, 32, 1}, TensorType::kQ8_0},
                      OrderedCase{"gptq_128_desc_act_v2", {Packing::kGptq, 4, 128, 0}, TensorType::kQ4_0}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Ints, HaveNoOrderOfTheirOwnWhereTheyAreInOrderOrGroupsDifferInSize) {
  EXPECT_FALSE(GroupwiseInts::Open(TensorsOf("gptq_32"), {Packing::kGptq, 4, 32, 1})->layout());
  auto uneven = TensorsOf("gptq_32_desc_act");
  SafetensorsTensor group_of = *uneven.group_of;
  std::vector<int32_t> groups(64, 1);
  groups[5] = 0;
  group_of.data = std::as_bytes(std::span(groups));
  uneven.group_of = &group_of;
  const auto ints = GroupwiseInts::Open(uneven, {Packing::kGptq, 4, 32, 1});
  ASSERT_TRUE(ints) << ints.error().message;
  EXPECT_FALSE(ints->layout());
  EXPECT_EQ(ints->type(), TensorType::kF32);
}

TEST(Ints, WithoutWeightsAreRefused) {
  for (const auto& shape : {std::vector<uint64_t>{0, 8}, {8, 0}}) {
    const uint64_t groups = shape[0] * 8 / 32, outputs = shape[1];
    const SafetensorsTensor weights{"w", SafetensorsDtype::kI32, shape, {}};
    const SafetensorsTensor zeros{"z", SafetensorsDtype::kI32, {groups, outputs / 8}, {}};
    const SafetensorsTensor scales{"s", SafetensorsDtype::kF16, {groups, outputs}, {}};
    const auto ints =
        GroupwiseInts::Open({.qweight = &weights, .qzeros = &zeros, .scales = &scales}, {Packing::kGptq, 4, 32, 1});
    ASSERT_FALSE(ints);
    EXPECT_THAT(ints.error().message, AllOf(HasSubstr("'w'"), HasSubstr("not empty")));
  }
}

TEST(Ints, ThatContradictThemselvesAreNamed) {
  const auto refusal = [](GroupwiseIntsTensors tensors, GroupwiseIntsFormat format) {
    const auto ints = GroupwiseInts::Open(tensors, format);
    return ints ? std::string() : ints.error().message;
  };
  const auto good = TensorsOf("gptq_32");
  EXPECT_EQ(refusal(good, {Packing::kGptq, 4, 32, 1}), "");
  EXPECT_THAT(refusal(good, {Packing::kGptq, 4, 16, 1}),
              AllOf(HasSubstr("gptq_32.qzeros"), HasSubstr("gptq_32.qweight"), HasSubstr("[4, 2]")));
  EXPECT_THAT(refusal(good, {Packing::kGptq, 8, 32, 1}), HasSubstr("gptq_32.qzeros"));
  EXPECT_THAT(refusal(good, {Packing::kGptq, 3, 32, 1}), HasSubstr("3 bits"));
  EXPECT_THAT(refusal(good, {Packing::kGptq, 4, 0, 1}), HasSubstr("group_size of 0"));
  auto wrong = good;
  wrong.group_of = TensorsOf("gptq_128_desc_act_v2").group_of;
  EXPECT_THAT(refusal(wrong, {Packing::kGptq, 4, 32, 1}), HasSubstr("gptq_128_desc_act_v2.g_idx"));
  wrong = good;
  wrong.scales = good.qzeros;
  EXPECT_NE(refusal(wrong, {Packing::kGptq, 4, 32, 1}), "");

  std::vector<int32_t> groups(64, 2);  // only groups 0 and 1 exist
  SafetensorsTensor far{
      .name = "far", .dtype = SafetensorsDtype::kI32, .shape = {64}, .data = std::as_bytes(std::span(groups))};
  wrong = good;
  wrong.group_of = &far;
  EXPECT_THAT(refusal(wrong, {Packing::kGptq, 4, 32, 1}), AllOf(HasSubstr("'far'"), HasSubstr("group 2")));

  std::vector<float> scales(32, std::numeric_limits<float>::infinity());
  SafetensorsTensor endless{
      .name = "endless", .dtype = SafetensorsDtype::kF32, .shape = {2, 16}, .data = std::as_bytes(std::span(scales))};
  wrong = good;
  wrong.scales = &endless;
  EXPECT_THAT(refusal(wrong, {Packing::kGptq, 4, 32, 1}), AllOf(HasSubstr("'endless'"), HasSubstr("not finite")));
}

TEST(Ints, GroupsOfZerosMayHaveAnyScale) {
  std::vector<uint32_t> eights(8 * 8, 0x88888888), sevens(8, 0x77777777);
  std::vector<float> scales(2 * 64, 1e-12f);
  const auto made = [](std::vector<uint32_t>& words, std::vector<uint64_t> shape) {
    return SafetensorsTensor{"made", SafetensorsDtype::kU32, std::move(shape), std::as_bytes(std::span(words))};
  };
  const auto type = [&](Packing packing, std::vector<uint64_t> shape, std::vector<uint32_t>& zero_words,
                        uint64_t groups) {
    const uint64_t outputs = packing == Packing::kAwq ? shape[1] * 8 : shape[1];
    const auto qweight = made(eights, std::move(shape)), qzeros = made(zero_words, {groups, outputs / 8});
    const SafetensorsTensor tiny{"tiny", SafetensorsDtype::kF32, {groups, outputs}, std::as_bytes(std::span(scales))};
    const auto ints = GroupwiseInts::Open({.qweight = &qweight, .qzeros = &qzeros, .scales = &tiny},
                                          {packing, 4, 32, packing == Packing::kGptq ? 1u : 0u});
    EXPECT_TRUE(ints) << ints.error().message;
    return ints->type();
  };
  EXPECT_EQ(type(Packing::kGptq, {8, 8}, sevens, 2), TensorType::kQ4_0);
  EXPECT_EQ(type(Packing::kAwq, {64, 1}, eights, 2), TensorType::kQ4_0);
  eights[5] = 0x88898888;
  EXPECT_EQ(type(Packing::kGptq, {8, 8}, sevens, 2), TensorType::kF32);
  EXPECT_EQ(type(Packing::kAwq, {64, 1}, sevens, 2), TensorType::kF32);
}

struct Fp8Case {
  const char* name;
  const char* scales;
  std::array<uint32_t, 2> block;
  TensorType type;
  bool as_it_is;  // keeps its layout: long runs of inputs share a scale, and no smaller type is exact
};

class Fp8 : public ::testing::TestWithParam<Fp8Case> {};

TEST_P(Fp8, AreWhatTheFormulaSays) {
  const std::string name = GetParam().name;
  const auto* scales = Weights().FindTensor(name + GetParam().scales);
  ASSERT_NE(scales, nullptr);
  const auto fp8 = Fp8Weights::Open(*Weights().FindTensor(name + ".weight"), *scales, GetParam().block);
  ASSERT_TRUE(fp8) << fp8.error().message;
  EXPECT_EQ(fp8->type(), GetParam().type);
  ExpectValues(*fp8, name);
  const auto layout = fp8->layout();
  ASSERT_EQ(layout.has_value(), GetParam().as_it_is);
  if (!layout) return;
  const int64_t inputs = fp8->inputs();
  std::vector<float> made(static_cast<size_t>(fp8->outputs() * inputs));
  for (int64_t row = 0; row < fp8->outputs(); ++row) ReadRow(*layout, row, inputs, made.data() + row * inputs);
  EXPECT_EQ(std::memcmp(made.data(), fp8->Read().data(), made.size() * sizeof(float)), 0);
}

constexpr std::array<uint32_t, 2> kNone{}, kBlock{16, 32};
INSTANTIATE_TEST_SUITE_P(All, Fp8,
                         ::testing::Values(Fp8Case{"fp8_tensor", ".weight_scale", kNone, TensorType::kF32, true},
                                           Fp8Case{"fp8_output", ".weight_scale", kNone, TensorType::kF32, true},
                                           Fp8Case{"fp8_block", ".weight_scale_inv", kBlock, TensorType::kF32, false},
                                           Fp8Case{"fp8_powers", ".weight_scale_inv", kBlock, TensorType::kBf16,
                                                   false}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Fp8, ScalesOfAnotherShapeAreNamed) {
  const auto fp8 = Fp8Weights::Open(*Weights().FindTensor("fp8_block.weight"),
                                    *Weights().FindTensor("fp8_block.weight_scale_inv"), {8, 32});
  EXPECT_THAT(fp8.error().message,
              AllOf(HasSubstr("weight_scale_inv"), HasSubstr("[3, 2]"), HasSubstr("fp8_block.weight")));
}

struct AffineCase {
  const char* name;
  int64_t group_size;
  TensorType type;
};

class Affine : public ::testing::TestWithParam<AffineCase> {};

Result<MlxAffineWeights> OpenAffine(const std::string& name, int64_t group_size) {
  const auto tensor = [&](const char* end) -> const SafetensorsTensor& { return *MlxWeights().FindTensor(name + end); };
  return MlxAffineWeights::Open(tensor(".weight"), tensor(".scales"), tensor(".biases"), group_size);
}

TEST_P(Affine, AreWhatMlxMakesOfThem) {
  const auto groups = OpenAffine(GetParam().name, GetParam().group_size);
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->type(), GetParam().type);
  ExpectValues(*groups, GetParam().name, MlxWeights());
}

INSTANTIATE_TEST_SUITE_P(All, Affine,
                         ::testing::Values(AffineCase{"mlx_2_64_bf16", 64, TensorType::kQ4_1},
                                           AffineCase{"mlx_3_64_bf16", 64, TensorType::kQ4_1},
                                           AffineCase{"mlx_4_64_bf16", 64, TensorType::kQ4_1},
                                           AffineCase{"mlx_5_64_bf16", 64, TensorType::kQ5_1},
                                           AffineCase{"mlx_6_64_bf16", 64, TensorType::kF32},
                                           AffineCase{"mlx_8_64_bf16", 64, TensorType::kF32},
                                           AffineCase{"mlx_4_32_f16", 32, TensorType::kQ4_1},
                                           AffineCase{"mlx_4_128_f32", 128, TensorType::kF32},
                                           AffineCase{"mlx_8_32_f16", 32, TensorType::kF32},
                                           AffineCase{"mlx_5_128_f16", 128, TensorType::kQ5_1}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Affine, OfAStackAreEachExpertsOwn) {
  const auto file = OpenCheckpointData("mlx_qwen3_moe-hf/model.safetensors");
  const auto tensor = [&](const char* end) {
    return *file->FindTensor(std::string("model.layers.0.mlp.switch_mlp.up_proj.") + end);
  };
  const SafetensorsTensor words = tensor("weight"), scales = tensor("scales"), biases = tensor("biases");
  for (const uint64_t expert : {0, 3}) {
    const auto groups = MlxAffineWeights::OpenExpert(words, scales, biases, 32, expert);
    ASSERT_TRUE(groups) << groups.error().message;
    EXPECT_EQ(groups->outputs(), 32);
    EXPECT_EQ(groups->inputs(), 64);
    EXPECT_EQ(groups->layout().words.data(), words.data.data() + expert * words.data.size() / 4) << "a view, no copy";
    EXPECT_EQ(groups->layout().biases.data(), biases.data.data() + expert * biases.data.size() / 4);
  }
  EXPECT_THAT(SliceExpert(words, 4).error().message, AllOf(HasSubstr("up_proj.weight"), HasSubstr("4 experts")));
  EXPECT_THAT(MlxAffineWeights::OpenExpert(words, scales, *file->FindTensor("lm_head.biases"), 32, 0).error().message,
              AllOf(HasSubstr("lm_head.biases"), HasSubstr("3 dimensions")));
}

TEST(Affine, ThatContradictThemselvesAreNamed) {
  EXPECT_THAT(OpenAffine("mlx_4_64_bf16", 16).error().message,
              AllOf(HasSubstr("mlx_4_64_bf16.weight"), HasSubstr("groups of 16")));
  // With half as many inputs, the same words hold 8 bits each: another weight, but consistent. 24 bits are not.
  EXPECT_EQ(OpenAffine("mlx_4_64_bf16", 32)->layout().bits, 8);
  EXPECT_THAT(OpenAffine("mlx_6_64_bf16", 32).error().message,
              AllOf(HasSubstr("mlx_6_64_bf16.weight"), HasSubstr("bits")));
  const auto& weight = *MlxWeights().FindTensor("mlx_4_64_bf16.weight");
  const auto& scales = *MlxWeights().FindTensor("mlx_4_64_bf16.scales");
  const auto& others = *MlxWeights().FindTensor("mlx_4_32_f16.scales");
  EXPECT_THAT(MlxAffineWeights::Open(weight, scales, others, 64).error().message, HasSubstr("mlx_4_32_f16.scales"));
  EXPECT_THAT(MlxAffineWeights::Open(scales, scales, scales, 64).error().message, HasSubstr("U32"));
}

TEST(FusedExperts, RowsComeInTurns) {
  std::vector<uint8_t> blocks(2 * 4 * 16), exponents(2 * 4);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<uint8_t>(7 * i);
  for (size_t i = 0; i < exponents.size(); ++i) exponents[i] = static_cast<uint8_t>(120 + i);
  const SafetensorsTensor of_blocks{"b", SafetensorsDtype::kU8, {2, 4, 1, 16}, std::as_bytes(std::span(blocks))};
  const SafetensorsTensor of_exponents{"e", SafetensorsDtype::kU8, {2, 4, 1}, std::as_bytes(std::span(exponents))};
  const auto up = Mxfp4Expert::Open(of_blocks, of_exponents, 1, {.first = 1, .step = 2});
  ASSERT_TRUE(up) << up.error().message;
  ASSERT_EQ(up->outputs(), 2);
  const auto values = CheckpointFloats(up->type(), up->Read(), 2, 32);
  // OCP's table; a byte holds two neighbouring values, the first in its low half.
  constexpr float kFp4[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  for (size_t r = 0; r < 2; ++r) {
    const size_t row = 4 + 1 + 2 * r;  // of expert 1: rows 1 and 3
    for (size_t i = 0; i < 32; ++i) {
      const float wanted = std::ldexp(kFp4[blocks[16 * row + i / 2] >> (i % 2 * 4) & 15], exponents[row] - 127);
      EXPECT_EQ(values[32 * r + i], wanted) << r << " " << i;
    }
  }
  EXPECT_THAT(Mxfp4Expert::Open(of_blocks, of_blocks, 0, {}).error().message, HasSubstr("'b'"));
  EXPECT_THAT(Mxfp4Expert::Open(of_blocks, of_exponents, 2, {}).error().message, HasSubstr("expert 2"));
  const SafetensorsTensor odd{"odd", SafetensorsDtype::kU8, {2, 3, 1, 16}, of_blocks.data.first(96)};
  const SafetensorsTensor of_odd{"x", SafetensorsDtype::kU8, {2, 3, 1}, of_exponents.data.first(6)};
  EXPECT_THAT(Mxfp4Expert::Open(odd, of_odd, 0, {0, 2}).error().message, HasSubstr("'odd' has 3 rows"));
}

}  // namespace
}  // namespace inferflux::formats
