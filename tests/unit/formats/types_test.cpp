// Types of elements and layouts of weights: their sizes, at the edges.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/safetensors/safetensors_dtype.h"
#include "formats/tensor_type.h"
#include "formats/weight_layout/weight_layout.h"

namespace inferflux::formats {
namespace {

template <class T>
std::string Told(const Result<T>& result) {
  return result ? fmt::format("{}", *result) : result.error().message;
}

TEST(TensorTypes, HaveTheSizesOfTheFormat) {
  std::string all;
  for (const TensorTypeTraits& traits : AllTensorTypes()) {
    all += fmt::format("{}={}:{}/{} ", traits.name, static_cast<uint32_t>(traits.type), traits.block_bytes,
                       traits.block_elements);
  }
  EXPECT_EQ(all,
            "F32=0:4/1 F16=1:2/1 Q4_0=2:18/32 Q4_1=3:20/32 Q5_0=6:22/32 Q5_1=7:24/32 Q8_0=8:34/32 Q2_K=10:84/256 "
            "Q3_K=11:110/256 Q4_K=12:144/256 Q5_K=13:176/256 Q6_K=14:210/256 Q8_K=15:292/256 IQ2_XXS=16:66/256 "
            "IQ2_XS=17:74/256 IQ3_XXS=18:98/256 IQ1_S=19:50/256 IQ4_NL=20:18/32 IQ3_S=21:110/256 IQ2_S=22:82/256 "
            "IQ4_XS=23:136/256 I8=24:1/1 I16=25:2/1 I32=26:4/1 I64=27:8/1 F64=28:8/1 IQ1_M=29:56/256 BF16=30:2/1 "
            "TQ1_0=34:54/256 TQ2_0=35:66/256 MXFP4=39:17/32 NVFP4=40:36/64 ");
}

TEST(TensorTypes, IdsThatLeftTheFormatAreTold) {
  std::string left, unknown;
  for (uint32_t id = 0; id < 50; ++id) {
    const auto type = TensorTypeFromId(id);
    if (type) continue;
    (type.error().message.ends_with("is unknown") ? unknown : left) += fmt::format("{} ", id);
  }
  EXPECT_EQ(left, "4 5 31 32 33 36 37 38 ");
  EXPECT_EQ(unknown, "9 41 42 43 44 45 46 47 48 49 ");
  EXPECT_EQ(TensorTypeFromId(4).error().message, "tensor type id 4 has left the GGUF format; convert the model again");
  EXPECT_EQ(TensorTypeFromId(9).error().message, "tensor type id 9 is unknown");
}

TEST(TensorTypes, TensorsAreRowsOfWholeBlocks) {
  const auto bytes = [](TensorType type, std::vector<uint64_t> dims) { return Told(TensorBytes(type, dims)); };
  EXPECT_EQ(bytes(TensorType::kQ4_0, {64, 3, 2}), "216");
  EXPECT_EQ(bytes(TensorType::kF32, {5}), "20");
  EXPECT_EQ(bytes(TensorType::kQ4_0, {33, 2}), "a row of 33 elements is not a whole number of Q4_0 blocks of 32");
  EXPECT_EQ(bytes(TensorType::kF32, {}), "a tensor needs at least one dimension");
  EXPECT_EQ(bytes(TensorType::kF32, {5, 0}), "dimension 1 is zero");
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  EXPECT_EQ(bytes(TensorType::kI8, {kHuge}), "4611686018427387904");
  EXPECT_EQ(bytes(TensorType::kI8, {kHuge, 2}), "the element count overflows 63 bits at dimension 1 of 2");
  EXPECT_EQ(bytes(TensorType::kI8, {(kHuge - 1) * 2 + 1}), "9223372036854775807");
  EXPECT_EQ(bytes(TensorType::kI16, {2, kHuge / 2}), "9223372036854775808");
  EXPECT_EQ(bytes(TensorType::kI64, {2, kHuge / 2}), "4611686018427387904 elements of I64 overflow 64 bits");
  EXPECT_EQ(Told(RowBytes(TensorType::kF64, kHuge)), "a F64 row of 4611686018427387904 elements overflows 64 bits");
}

TEST(SafetensorsDtypes, HaveTheirNamesSizesAndGgufTypes) {
  std::string all;
  for (int i = 0; i < 15; ++i) {
    const auto dtype = static_cast<SafetensorsDtype>(i);
    const auto& traits = Traits(dtype);
    EXPECT_EQ(traits.dtype, dtype);
    EXPECT_EQ(SafetensorsDtypeFromName(traits.name), dtype);
    all += fmt::format("{} {} {}, ", traits.name, traits.bytes, traits.type ? TensorTypeName(*traits.type) : "-");
  }
  EXPECT_EQ(
      all,
      "BOOL 1 -, U8 1 -, I8 1 I8, F8_E4M3 1 -, F8_E5M2 1 -, I16 2 I16, U16 2 -, F16 2 F16, BF16 2 BF16, I32 4 I32, "
      "U32 4 -, F32 4 F32, I64 8 I64, U64 8 -, F64 8 F64, ");
  EXPECT_EQ(SafetensorsDtypeFromName("F8"), std::nullopt);
}

TEST(SafetensorsDtypes, EightBitFloats) {
  const auto value = [](SafetensorsDtype dtype, uint8_t bits) {
    const auto byte = static_cast<std::byte>(bits);
    float out = 0;
    ToFloats(dtype, &byte, &out, 1);
    return fmt::format("{}", out);
  };
  using D = SafetensorsDtype;
  EXPECT_EQ(value(D::kF8E4m3, 0x00), "0");
  EXPECT_EQ(value(D::kF8E4m3, 0x80), "-0");
  EXPECT_EQ(value(D::kF8E4m3, 0x01), "0.001953125");
  EXPECT_EQ(value(D::kF8E4m3, 0x07), "0.013671875");
  EXPECT_EQ(value(D::kF8E4m3, 0x08), "0.015625");
  EXPECT_EQ(value(D::kF8E4m3, 0x39), "1.125");
  EXPECT_EQ(value(D::kF8E4m3, 0x77), "240");
  EXPECT_EQ(value(D::kF8E4m3, 0x7e), "448");
  EXPECT_EQ(value(D::kF8E4m3, 0xfe), "-448");
  EXPECT_NE(value(D::kF8E4m3, 0x7f).find("nan"), std::string::npos);
  EXPECT_EQ(value(D::kF8E5m2, 0x3d), "1.25");
  EXPECT_EQ(value(D::kF8E5m2, 0xfc), "-inf");
  EXPECT_EQ(value(D::kU8, 0xff), "255");
  EXPECT_EQ(value(D::kI8, 0xff), "-1");
}

struct Layouts : ::testing::Test {
  std::vector<std::byte> numbers{1 << 16};
  std::span<const std::byte> all{numbers};
  std::vector<float> floats = std::vector<float>(1000);
  std::vector<int32_t> order = std::vector<int32_t>(1000);
};

TEST_F(Layouts, FitOnlyTheirMatrix) {
  // 6 x 128 weights of 4 bits, in groups of 32.
  const auto affine = [&](size_t words, size_t scales, size_t biases) {
    return Fits(AffineLayout{.bits = 4,
                             .group = 32,
                             .scale_type = TensorType::kBf16,
                             .words = all.first(words),
                             .scales = all.first(scales),
                             .biases = all.first(biases)},
                6, 128);
  };
  EXPECT_TRUE(affine(384, 48, 48));
  EXPECT_FALSE(affine(385, 48, 48));
  EXPECT_FALSE(affine(383, 48, 48));
  EXPECT_FALSE(affine(384, 49, 48));
  EXPECT_FALSE(affine(384, 48, 47));
  const AffineLayout uneven{.bits = 4,
                            .group = 32,
                            .scale_type = TensorType::kF32,
                            .words = all.first(144),
                            .scales = all.first(36),
                            .biases = all.first(36)};
  EXPECT_FALSE(Fits(uneven, 6, 48)) << "a row of one and a half groups";
  EXPECT_FALSE(Fits(uneven, 6, 0));

  const auto fp8 = [&](int64_t block_outputs, int64_t block_inputs, size_t scales, size_t values = 60000) {
    return Fits(Fp8Layout{.block_outputs = block_outputs,
                          .block_inputs = block_inputs,
                          .values = all.first(values),
                          .scales = std::span(floats).first(scales)},
                200, 300);
  };
  EXPECT_TRUE(fp8(128, 128, 6));
  EXPECT_FALSE(fp8(128, 128, 5));
  EXPECT_FALSE(fp8(128, 128, 7));
  EXPECT_FALSE(fp8(128, 128, 6, 59999));
  EXPECT_TRUE(fp8(100, 300, 2));
  EXPECT_TRUE(fp8(199, 300, 2));
  EXPECT_TRUE(fp8(200, 300, 1));
  EXPECT_FALSE(fp8(200, 100, 3)) << "less than a run";
  EXPECT_TRUE(fp8(200, 256, 2));
  EXPECT_TRUE(fp8(200, 301, 1)) << "a block may be wider than the matrix";
  EXPECT_FALSE(Fits(Fp8Layout{.block_outputs = 1, .block_inputs = 1}, 6, 0)) << "no inputs";
  EXPECT_FALSE(Fits(Fp8Layout{.block_outputs = 1, .block_inputs = 1}, 6, -1));
  EXPECT_FALSE(fp8(0, 300, 1));
  EXPECT_FALSE(fp8(1, 0, 1));
  EXPECT_TRUE(fp8(1, 300, 200));

  const auto ordered = [&](size_t data, size_t inputs) {
    return Fits(
        ActOrderLayout{.type = TensorType::kQ4_0, .order = std::span(order).first(inputs), .data = all.first(data)}, 6,
        64);
  };
  EXPECT_TRUE(ordered(216, 64));
  EXPECT_FALSE(ordered(215, 64));
  EXPECT_FALSE(ordered(216, 63));
  EXPECT_FALSE(Fits(
      ActOrderLayout{.type = TensorType::kQ4_0, .order = std::span(order).first(65), .data = all.first(216)}, 6, 65));
  EXPECT_FALSE(Fits(ActOrderLayout{}, int64_t{1} << 32, int64_t{1} << 32)) << "the product overflows";
}

TEST_F(Layouts, KnowTheirNamesAndSizes) {
  const WeightLayout affine =
      AffineLayout{.bits = 3, .group = 32, .words = all.first(5), .scales = all.first(7), .biases = all.first(11)};
  const WeightLayout fp8 =
      Fp8Layout{.block_outputs = 3, .block_inputs = 5, .values = all.first(7), .scales = std::span(floats).first(2)};
  const WeightLayout ordered =
      ActOrderLayout{.type = TensorType::kQ8_0, .order = std::span(order).first(2), .data = all.first(7)};
  EXPECT_EQ(WeightLayoutName(affine) + WeightLayoutName(fp8) + WeightLayoutName(ordered), "MLX 3-bitFP8Q8_0");
  EXPECT_EQ(StoredBytes(affine), 23u);
  EXPECT_EQ(StoredBytes(fp8), 15u);
  EXPECT_EQ(StoredBytes(ordered), 15u);
  EXPECT_EQ(StoredBytes(affine, 4, 64), 4 * (24 + 2 * 2 * 4));
  EXPECT_EQ(StoredBytes(fp8, 6, 10), 60 + 2 * 2 * 4);
  EXPECT_EQ(StoredBytes(fp8, 7, 11), 77 + 3 * 3 * 4);
  EXPECT_EQ(StoredBytes(ordered, 4, 64), 4 * 68 + 64 * 4);
  const WeightLayouts only_fp8{.fp8 = true}, others{.affine = true, .ordered = true};
  EXPECT_TRUE(only_fp8.Contains(fp8));
  EXPECT_FALSE(only_fp8.Contains(affine) || only_fp8.Contains(ordered));
  EXPECT_TRUE(others.Contains(affine) && others.Contains(ordered));
  EXPECT_FALSE(others.Contains(fp8));
}

TEST_F(Layouts, AnFp8RowHasTheScalesOfItsBlocks) {
  const std::vector<float> scales{1, 2, 3, 4};
  std::vector<std::byte> values(12, std::byte{0x38});  // 1
  const Fp8Layout layout{.block_outputs = 2, .block_inputs = 2, .values = values, .scales = scales};
  std::vector<float> row(3);
  const auto read = [&](int64_t at) {
    ReadRow(layout, at, 3, row.data());
    return row;
  };
  values[1] = std::byte{0xb8};
  EXPECT_EQ(read(0), (std::vector<float>{1, -1, 2}));
  EXPECT_EQ(read(1), (std::vector<float>{1, 1, 2}));
  EXPECT_EQ(read(2), (std::vector<float>{3, 3, 4}));
  EXPECT_EQ(read(3), (std::vector<float>{3, 3, 4}));
}

}  // namespace
}  // namespace inferflux::formats
