// Weights packed by the package compressed-tensors, compared with its own unpacked values (tools/compressed_golden.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/quantized_checkpoints/checkpoint_values.h"
#include "formats/quantized_checkpoints/fused_experts.h"
#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/quantized_checkpoints/modelopt_nvfp4.h"

namespace inferflux::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const SafetensorsFile& PackageWeights() {
  static const auto file = OpenCheckpointData("compressed.safetensors");
  return *file;
}

struct CompressedCase {
  const char* name;
  TensorType type;  // the smallest that holds the values
};

class CompressedTensors : public ::testing::TestWithParam<CompressedCase> {};

CompressedTensorsInts PackedTensors(const std::string& name) {
  const SafetensorsTensor* packed = PackageWeights().FindTensor(name + ".weight_packed");
  return {.weight = packed != nullptr ? packed : PackageWeights().FindTensor(name + ".weight"),
          .scales = PackageWeights().FindTensor(name + ".weight_scale"),
          .shape = PackageWeights().FindTensor(name + ".weight_shape"),
          .zeros = PackageWeights().FindTensor(name + ".weight_zero_point"),
          .group_of = PackageWeights().FindTensor(name + ".weight_g_idx")};
}

TEST_P(CompressedTensors, AreWhatThePackageMakesOfThem) {
  const auto ints = GroupwiseInts::OpenCompressed(PackedTensors(GetParam().name), {});
  ASSERT_TRUE(ints) << ints.error().message;
  EXPECT_EQ(ints->type(), GetParam().type);
  ExpectCheckpointValues(*ints, GetParam().name, PackageWeights());
}

INSTANTIATE_TEST_SUITE_P(
    All, CompressedTensors,
    ::testing::Values(
        CompressedCase{"ct_4_groups", TensorType::kQ4_0}, CompressedCase{"ct_4_groups_asymmetric", TensorType::kQ8_0},
        CompressedCase{"ct_4_outputs", TensorType::kQ4_0}, CompressedCase{"ct_4_outputs_asymmetric", TensorType::kQ8_0},
        CompressedCase{"ct_4_tensor", TensorType::kQ4_0}, CompressedCase{"ct_4_tensor_asymmetric", TensorType::kQ8_0},
        CompressedCase{"ct_4_odd_inputs", TensorType::kF32}, CompressedCase{"ct_4_float_scales", TensorType::kF32},
        CompressedCase{"ct_4_dead_group", TensorType::kQ4_0}, CompressedCase{"ct_4_ordered", TensorType::kF32},
        CompressedCase{"ct_4_not_ordered", TensorType::kQ4_0}, CompressedCase{"ct_2_groups", TensorType::kQ4_0},
        CompressedCase{"ct_8_groups", TensorType::kQ8_0}, CompressedCase{"ct_8_groups_asymmetric", TensorType::kF32},
        CompressedCase{"ct_bytes_outputs", TensorType::kQ8_0}, CompressedCase{"ct_bytes_groups", TensorType::kQ8_0},
        CompressedCase{"ct_bytes_tensor", TensorType::kQ8_0}, CompressedCase{"ct_bytes_asymmetric", TensorType::kF32}),
    [](const auto& info) { return std::string(info.param.name); });

std::string RefusalOf(const CompressedTensorsInts& tensors, std::vector<uint32_t> known_bits = {}) {
  const auto ints = GroupwiseInts::OpenCompressed(tensors, known_bits);
  return ints ? std::string() : ints.error().message;
}

template <class T>
SafetensorsTensor MadeTensor(const char* name, SafetensorsDtype dtype, std::vector<uint64_t> shape,
                             std::vector<T>& values) {
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .data = std::as_bytes(std::span(values))};
}

TEST(CompressedTensors, BitsAreThoseOfTheShapesAndOfTheConfiguration) {
  EXPECT_EQ(RefusalOf(PackedTensors("ct_4_groups"), {4}), "");
  EXPECT_EQ(RefusalOf(PackedTensors("ct_4_groups"), {8, 4}), "");
  EXPECT_THAT(RefusalOf(PackedTensors("ct_4_groups"), {8}),
              AllOf(HasSubstr("ct_4_groups.weight_packed' is [12, 8]"), HasSubstr("8 bits"),
                    HasSubstr("ct_4_groups.weight_shape' of [12, 64]")));
  std::vector<int32_t> word(4);
  std::vector<int64_t> sizes{4, 8};  // as 2-bit or 4-bit numbers
  std::vector<float> one{1};
  const auto weight = MadeTensor("few", SafetensorsDtype::kI32, {4, 1}, word);
  const auto shape = MadeTensor("shape", SafetensorsDtype::kI64, {2}, sizes);
  const auto scale = MadeTensor("scale", SafetensorsDtype::kF32, {1}, one);
  const CompressedTensorsInts few{.weight = &weight, .scales = &scale, .shape = &shape};
  EXPECT_EQ(RefusalOf(few, {4}), "");
  EXPECT_THAT(RefusalOf(few), HasSubstr("'few' is [4, 1]"));
}

TEST(CompressedTensors, ThatContradictThemselvesAreNamed) {
  const auto good = PackedTensors("ct_4_groups_asymmetric");
  ASSERT_EQ(RefusalOf(good), "");
  auto wrong = good;
  wrong.shape = PackedTensors("ct_4_outputs").shape;  // [5, 96]
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("ct_4_groups_asymmetric.weight_packed"), HasSubstr("[5, 96]")));
  wrong.shape = good.scales;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("weight_scale' is BF16"), HasSubstr("should be I64 or I32")));
  wrong = good;
  wrong.scales = PackedTensors("ct_4_outputs").scales;  // [5, 1]
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("ct_4_outputs.weight_scale' is [5, 1]"),
                                      HasSubstr("ct_4_groups_asymmetric.weight_packed' of [12, 8]")));
  wrong = good;
  wrong.zeros = PackedTensors("ct_4_outputs_asymmetric").zeros;  // [1, 1]
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("ct_4_outputs_asymmetric.weight_zero_point"), HasSubstr("[2, 2]")));
  wrong.zeros = good.scales;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("weight_scale' is BF16"), HasSubstr("should be I8 or I32")));
  wrong = good;
  wrong.group_of = PackedTensors("ct_4_ordered").group_of;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("ct_4_ordered.weight_g_idx' is [128]"), HasSubstr("[64]")));
  wrong = good;
  wrong.weight = good.scales;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("weight_scale' is BF16"), HasSubstr("should be I32")));
  wrong = PackedTensors("ct_bytes_groups");
  wrong.weight = good.weight;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("weight_packed' is I32"), HasSubstr("should be I8")));

  std::vector<int64_t> sizes{12, int64_t{1} << 40};
  const auto endless = MadeTensor("endless", SafetensorsDtype::kI64, {2}, sizes);
  wrong = good;
  wrong.shape = &endless;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("'endless'"), HasSubstr("dimensions of 1 to")));
  sizes = {-12, 64};
  EXPECT_THAT(RefusalOf(wrong), HasSubstr("[-12, 64]"));
  std::vector<int32_t> three{12, 64, 1};
  const auto long_shape = MadeTensor("long", SafetensorsDtype::kI32, {3}, three);
  wrong.shape = &long_shape;
  EXPECT_THAT(RefusalOf(wrong), HasSubstr("'long' has 3 values"));

  std::vector<float> scales(12 * 3, 1.0f);
  const auto uneven = MadeTensor("uneven", SafetensorsDtype::kF32, {12, 3}, scales);
  wrong = good;
  wrong.scales = &uneven;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("'uneven'"), HasSubstr("3 groups"), HasSubstr("64 inputs")));
  std::vector<float> no_number(1, std::numeric_limits<float>::quiet_NaN());
  const auto nan = MadeTensor("nan", SafetensorsDtype::kF32, {1}, no_number);
  wrong = PackedTensors("ct_4_tensor");
  wrong.scales = &nan;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("'nan'"), HasSubstr("not finite")));
  std::vector<int32_t> groups(64, 2);  // only groups 0 and 1 exist
  const auto far = MadeTensor("far", SafetensorsDtype::kI32, {64}, groups);
  wrong = good;
  wrong.group_of = &far;
  EXPECT_THAT(RefusalOf(wrong), AllOf(HasSubstr("'far'"), HasSubstr("group 2")));
}

TEST(CompressedTensors, InAnotherOrderAreTheSameWeights) {
  const auto ints = GroupwiseInts::OpenCompressed(PackedTensors("ct_4_ordered"), {});
  ASSERT_TRUE(ints) << ints.error().message;
  ExpectSameInOrder(*ints, TensorType::kQ4_0);
  EXPECT_FALSE(GroupwiseInts::OpenCompressed(PackedTensors("ct_4_not_ordered"), {})->layout());

  std::vector<int8_t> values(2 * 64);  // distinct bytes; every second input belongs to the same group
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(i * 37);
  std::vector<float> scales{0.5f, 0.25f, 2.0f, 4.0f};
  std::vector<int32_t> groups(64);
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = i % 2 == 0;
  const auto weight = MadeTensor("w", SafetensorsDtype::kI8, {2, 64}, values);
  const auto scale = MadeTensor("s", SafetensorsDtype::kF32, {2, 2}, scales);
  const auto order = MadeTensor("g", SafetensorsDtype::kI32, {64}, groups);
  const auto bytes = GroupwiseInts::OpenCompressed({.weight = &weight, .scales = &scale, .group_of = &order}, {});
  ASSERT_TRUE(bytes) << bytes.error().message;
  ExpectSameInOrder(*bytes, TensorType::kQ8_0);
}

TEST(CompressedTensors, WithoutScalesAreRefused) {
  std::vector<int8_t> values(2 * 64);
  std::vector<float> none;
  const auto weight = MadeTensor("w", SafetensorsDtype::kI8, {2, 64}, values);
  const auto scale = MadeTensor("s", SafetensorsDtype::kF32, {2, 0}, none);
  EXPECT_THAT(RefusalOf({.weight = &weight, .scales = &scale}), AllOf(HasSubstr("'s'"), HasSubstr("not empty")));
}

TEST(CompressedTensors, WithoutWeightsAreRefused) {
  std::vector<int8_t> nothing;
  std::vector<float> one{1};
  const auto scale = MadeTensor("s", SafetensorsDtype::kF32, {1}, one);
  for (const auto& shape : {std::vector<uint64_t>{0, 64}, {2, 0}}) {
    const auto weight = MadeTensor("w", SafetensorsDtype::kI8, shape, nothing);
    EXPECT_THAT(RefusalOf({.weight = &weight, .scales = &scale}), AllOf(HasSubstr("'w'"), HasSubstr("not empty")));
  }
}

// A scale outside float16's range needs a wider type only if a number in its group is not zero.
TEST(CompressedTensors, GroupsOfZerosMayHaveAnyScale) {
  std::vector<int8_t> values(2 * 64, 3);
  std::vector<float> scales{0.5f, 0.25f, 2.0f, 1e9f};  // [2, 2]
  const auto weight = MadeTensor("w", SafetensorsDtype::kI8, {2, 64}, values);
  const auto scale = MadeTensor("s", SafetensorsDtype::kF32, {2, 2}, scales);
  const auto type = [&] { return GroupwiseInts::OpenCompressed({.weight = &weight, .scales = &scale}, {})->type(); };
  EXPECT_EQ(type(), TensorType::kF32);
  std::fill(values.begin() + 96, values.end(), int8_t{0});
  EXPECT_EQ(type(), TensorType::kQ8_0);
  values.back() = 1;
  EXPECT_EQ(type(), TensorType::kF32);
  values.back() = 0;
  const auto ints = GroupwiseInts::OpenCompressed({.weight = &weight, .scales = &scale}, {});
  std::vector<float> wanted(128, 0.0f);
  std::fill(wanted.begin(), wanted.begin() + 32, 1.5f);
  std::fill(wanted.begin() + 32, wanted.begin() + 64, 0.75f);
  std::fill(wanted.begin() + 64, wanted.begin() + 96, 6.0f);
  EXPECT_EQ(CheckpointFloats(ints->type(), ints->Read(), 2, 64), wanted);
}

struct Nvfp4Tensors {
  const SafetensorsTensor* packed;
  const SafetensorsTensor* scales;
  const SafetensorsTensor* tensor_scale;
  Nvfp4::ScaleUse how;

  Result<Nvfp4> Open() const { return Nvfp4::Open(*packed, *scales, *tensor_scale, how); }
  std::string Refusal() const {
    const auto opened = Open();
    return opened ? std::string() : opened.error().message;
  }
};

Nvfp4Tensors Nvfp4Of(const std::string& name) {
  const bool modelopt = name.starts_with("modelopt");
  return {.packed = PackageWeights().FindTensor(name + (modelopt ? ".weight" : ".weight_packed")),
          .scales = PackageWeights().FindTensor(name + ".weight_scale"),
          .tensor_scale = PackageWeights().FindTensor(name + (modelopt ? ".weight_scale_2" : ".weight_global_scale")),
          .how = modelopt ? Nvfp4::ScaleUse::kMultiplies : Nvfp4::ScaleUse::kDivides};
}

// Its values times its per-tensor scale, with the interface of a weight's reader.
struct Multiplied {
  const Nvfp4& nvfp4;

  int64_t outputs() const { return nvfp4.outputs(); }
  int64_t inputs() const { return nvfp4.inputs(); }
  TensorType type() const { return TensorType::kF32; }
  std::vector<std::byte> Read() const {
    auto values = CheckpointFloats(nvfp4.type(), nvfp4.Read(), outputs(), inputs());
    for (float& value : values) value *= nvfp4.tensor_scale();
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }
};

TEST(CompressedNvfp4, IsWhatThePackagesMakeOfIt) {
  const std::pair<const char*, TensorType> cases[] = {{"ct_nvfp4", TensorType::kNvfp4},
                                                      {"ct_nvfp4_48_inputs", TensorType::kF32},
                                                      {"modelopt_nvfp4", TensorType::kNvfp4}};
  for (const auto& [name, type] : cases) {
    SCOPED_TRACE(name);
    const auto nvfp4 = Nvfp4Of(name).Open();
    ASSERT_TRUE(nvfp4) << nvfp4.error().message;
    EXPECT_EQ(nvfp4->type(), type);
    EXPECT_EQ(nvfp4->tensor_scale() == 1.0f, type == TensorType::kF32) << "multiplied in only there";
    ExpectCheckpointValues(Multiplied{*nvfp4}, name, PackageWeights());
  }
}

TEST(CompressedNvfp4, ThatContradictsItselfIsNamed) {
  const auto good = Nvfp4Of("ct_nvfp4");  // [3, 64], [3, 8]
  ASSERT_EQ(good.Refusal(), "");
  auto wrong = good;
  wrong.scales = Nvfp4Of("modelopt_nvfp4").scales;
  EXPECT_THAT(wrong.Refusal(), AllOf(HasSubstr("'modelopt_nvfp4.weight_scale' is [5, 4]"),
                                     HasSubstr("'ct_nvfp4.weight_packed' of [3, 64]"), HasSubstr("[3, 8]")));
  wrong.scales = good.tensor_scale;
  EXPECT_THAT(wrong.Refusal(), AllOf(HasSubstr("weight_global_scale' is F32"), HasSubstr("should be F8_E4M3")));
  wrong = good;
  wrong.packed = good.scales;
  EXPECT_THAT(wrong.Refusal(), AllOf(HasSubstr("weight_scale' is F8_E4M3"), HasSubstr("should be U8")));
  std::vector<uint8_t> bytes(3 * 20);
  const auto odd = MadeTensor("odd", SafetensorsDtype::kU8, {3, 20}, bytes);
  wrong.packed = &odd;
  EXPECT_THAT(wrong.Refusal(), AllOf(HasSubstr("'odd' is [3, 20]"), HasSubstr("groups of 8 bytes")));

  std::vector<uint8_t> scales(3 * 8, 0x38);
  const auto made = MadeTensor("made", SafetensorsDtype::kF8E4m3, {3, 8}, scales);
  wrong = good;
  wrong.scales = &made;
  EXPECT_EQ(wrong.Refusal(), "");
  for (const uint8_t bad : {0x7f, 0x80, 0xb8, 0xff}) {
    scales[5] = bad;
    EXPECT_THAT(wrong.Refusal(), AllOf(HasSubstr("'made': scale 5"), HasSubstr("negative or NaN")));
  }
  std::vector<float> values{1, 2};
  const auto two = MadeTensor("two", SafetensorsDtype::kF32, {2}, values);
  wrong = good;
  wrong.tensor_scale = &two;
  EXPECT_THAT(wrong.Refusal(), HasSubstr("'two' has 2 values"));
  const auto one = MadeTensor("one", SafetensorsDtype::kF32, {1}, values);
  const SafetensorsTensor first{"one", SafetensorsDtype::kF32, {1}, one.data.first(4)};
  wrong.tensor_scale = &first;
  EXPECT_EQ(wrong.Refusal(), "");
  for (const float bad : {0.0f, -1.0f, 1e-45f, std::numeric_limits<float>::infinity()}) {
    values[0] = bad;
    EXPECT_THAT(wrong.Refusal(), HasSubstr("'one'")) << bad;
  }
  wrong.how = Nvfp4::ScaleUse::kMultiplies;
  values[0] = 0.0f;
  EXPECT_EQ(wrong.Refusal(), "");
  values[0] = -1.0f;
  EXPECT_THAT(wrong.Refusal(), HasSubstr("'one'"));
}

TEST(CompressedMxfp4, IsWhatThePackageMakesOfIt) {
  const SafetensorsTensor& packed = *PackageWeights().FindTensor("ct_mxfp4.weight_packed");  // [4, 32]
  const SafetensorsTensor& scales = *PackageWeights().FindTensor("ct_mxfp4.weight_scale");   // [4, 2]
  const auto weight = Mxfp4Expert::OpenMatrix(packed, scales);
  ASSERT_TRUE(weight) << weight.error().message;
  ExpectCheckpointValues(*weight, "ct_mxfp4", PackageWeights());

  const auto refusal = [](const SafetensorsTensor& bytes, const SafetensorsTensor& exponents) {
    return Mxfp4Expert::OpenMatrix(bytes, exponents).error().message;
  };
  std::vector<uint8_t> bytes(4 * 20);
  EXPECT_THAT(refusal(MadeTensor("odd", SafetensorsDtype::kU8, {4, 20}, bytes), scales),
              HasSubstr("'odd' has rows of 20"));
  EXPECT_THAT(
      refusal(packed, MadeTensor("more", SafetensorsDtype::kU8, {4, 4}, bytes)),
      AllOf(HasSubstr("'more' is [4, 4]"), HasSubstr("'ct_mxfp4.weight_packed' of [4, 32]"), HasSubstr("[4, 2]")));
  EXPECT_THAT(refusal(packed, *PackageWeights().FindTensor("ct_nvfp4.weight_scale")),
              AllOf(HasSubstr("ct_nvfp4.weight_scale' is F8_E4M3"), HasSubstr("should be U8")));
}

}  // namespace
}  // namespace inferflux::formats
