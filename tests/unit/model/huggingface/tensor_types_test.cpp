// Changes of a checkpoint's tensors that are not stored as floats, or that keep a layout of their own.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/half.h"
#include "formats/quant/dequantize.h"
#include "formats/quantized_checkpoints/fp8.h"
#include "formats/quantized_checkpoints/fused_experts.h"
#include "model/huggingface/stored_weight.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

using D = formats::SafetensorsDtype;
using formats::TensorType;

// Blocks of MXFP4, [rows, 32 * row_blocks], whose first values count the rows.
struct Blocks {
  explicit Blocks(uint64_t rows, uint64_t row_blocks = 1)
      : bytes(rows * row_blocks * 16), exponents(rows * row_blocks, std::byte{127}) {
    for (uint64_t r = 0; r < rows; ++r) bytes[r * row_blocks * 16] = static_cast<std::byte>(r % 8);
    packed = {.name = "q", .dtype = D::kU8, .shape = {rows, row_blocks * 16}, .data = bytes};
    scales = {.name = "s", .dtype = D::kU8, .shape = {rows, row_blocks}, .data = exponents};
    weight = std::make_shared<const StoredWeight>("q", *formats::Mxfp4Expert::OpenMatrix(packed, scales), uint64_t{7});
  }
  std::vector<std::byte> bytes, exponents;
  formats::SafetensorsTensor packed, scales;
  std::shared_ptr<const StoredWeight> weight;
};

std::string Described(const Blocks& blocks, TensorRecipe recipe) {
  recipe.parts.push_back(blocks.weight);
  const auto part = DescribeTensorPart(recipe, 0);
  if (!part) return part.error().message;
  return fmt::format("{} [{}, {}]{}", TensorTypeName(part->type), part->rows, part->cols,
                     part->data.empty() ? "" : " as it is");
}

// The first value of each row.
std::string FirstValues(const Blocks& blocks, TensorRecipe recipe) {
  recipe.parts.push_back(blocks.weight);
  const auto part = ReadTensorPart(recipe, 0);
  if (!part) return part.error().message;
  std::vector<float> row(static_cast<size_t>(part->cols));
  std::string out;
  const size_t bytes = part->data.size() / static_cast<size_t>(part->rows);
  for (int64_t r = 0; r < part->rows; ++r) {
    formats::DequantizeRow(part->type, part->data.data() + static_cast<size_t>(r) * bytes, row.data(), part->cols);
    out += fmt::format("{} ", row[0]);
  }
  return out;
}

TEST(TensorTypes, BlocksMoveByRowsAndBecomeFloatsOtherwise) {
  const Blocks four(4), six(6);
  EXPECT_EQ(four.weight->stored_bytes(), 7u);
  EXPECT_TRUE(four.weight->mapped().empty());
  EXPECT_EQ(Described(four, {}), "MXFP4 [4, 32]");
  EXPECT_EQ(Described(four, {.change = TensorChange::kAddOne}), "F32 [4, 32]");
  EXPECT_EQ(Described(four, {.change = TensorChange::kColumn}), "F32 [128, 1]");
  EXPECT_EQ(Described(four, {.change = TensorChange::kTranspose}), "tensor 'q' is quantised, and cannot be transposed");
  EXPECT_EQ(Described(four, {.change = TensorChange::kTransposeLastHalf}),
            "tensor 'q' is quantised, and cannot be transposed");
  EXPECT_EQ(Described(four, {.change = TensorChange::kGroupRows, .groups = 2}),
            "tensor 'q' has 128 values, which 2 groups cannot share");
  EXPECT_EQ(Described(four, {.factors = {{.rows = 0, .factor = 2.0}}}), "F32 [4, 32]");
  EXPECT_EQ(Described(four, {.change = TensorChange::kTileColumns, .value_heads = {.heads = 2, .key_heads = 1}}),
            "tensor 'q' is quantised in blocks of 32, more than a head's 16 columns");
  EXPECT_EQ(
      Described(Blocks(4, 2), {.change = TensorChange::kTileColumns, .value_heads = {.heads = 2, .key_heads = 1}}),
      "MXFP4 [4, 64]");
  EXPECT_EQ(FirstValues(four, {}), "0 0.5 1 1.5 ");
  EXPECT_EQ(FirstValues(four, {.change = TensorChange::kInterleaveRows, .heads = 1}), "0 1 0.5 1.5 ");
  EXPECT_EQ(FirstValues(four, {.change = TensorChange::kTileRows, .value_heads = {.heads = 4, .key_heads = 2}}),
            "0 1 0.5 1.5 ");
  EXPECT_EQ(FirstValues(four, {.change = TensorChange::kDropRows, .dropped = 1}), "0.5 1 1.5 ");
  EXPECT_EQ(FirstValues(four, {.change = TensorChange::kPadRows, .padded = 6}), "0 0.5 1 1.5 0 0 ");
  EXPECT_EQ(FirstValues(four, {.factors = {{.rows = 2, .factor = 2.0}, {.rows = 1, .factor = 4.0}}}), "0 1 4 1.5 ");
  EXPECT_EQ(FirstValues(four, {.change = TensorChange::kAddOne}), "1 1.5 2 2.5 ");
  const formats::HfLatents latents{.rank = 32, .plain_rows = 2, .value_rows = 1};
  EXPECT_EQ(Described(six, {.change = TensorChange::kHeadValues, .heads = 2, .latents = latents}), "MXFP4 [2, 32]");
  EXPECT_EQ(Described(six, {.change = TensorChange::kHeadKeys, .heads = 2, .latents = latents}), "F32 [64, 2]");
  EXPECT_EQ(FirstValues(six, {.change = TensorChange::kHeadValues, .heads = 2, .latents = latents}), "1 3 ");
  const std::string keys = FirstValues(six, {.change = TensorChange::kHeadKeys, .heads = 2, .latents = latents});
  EXPECT_EQ(keys.substr(0, 4), "0 0 ");
  EXPECT_EQ(keys.substr(2 * 32, 6), "1.5 0 ") << "the second head's first input";
}

std::string Rounded(D dtype, const std::vector<float>& values, double factor) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(dtype == D::kF16 ? ToFp16(value).bits : ToBf16(value).bits);
  const formats::SafetensorsTensor tensor{
      .name = "h", .dtype = dtype, .shape = {1, values.size()}, .data = std::as_bytes(std::span(bits))};
  TensorRecipe recipe{.factors = {{.rows = 0, .factor = factor}}};
  recipe.parts.push_back(std::make_shared<const StoredWeight>("h", tensor));
  const auto part = ReadTensorPart(recipe, 0);
  if (!part) return part.error().message;
  std::vector<float> out(values.size());
  formats::DequantizeRow(part->type, part->data.data(), out.data(), part->cols);
  return fmt::format("{} {}", TensorTypeName(part->type), fmt::join(out, " "));
}

TEST(TensorTypes, ProductsAreRoundedToTheTensorsType) {
  EXPECT_EQ(Rounded(D::kF16, {1.0f, 3.0f}, 0.5), "F16 0.5 1.5");
  EXPECT_EQ(Rounded(D::kBf16, {1.0f, 3.0f}, 0.5), "BF16 0.5 1.5");
  EXPECT_EQ(Rounded(D::kF16, {1.0f}, 1.0 + 0x1p-12), "F16 1");
  EXPECT_EQ(Rounded(D::kBf16, {1.0f}, 1.0 + 0x1p-7), "BF16 1.0078125");
}

TEST(TensorTypes, DataThatAreNotAlignedAreCopied) {
  std::vector<float> values(5);
  std::iota(values.begin(), values.end(), 0.0f);
  const auto bytes = std::as_bytes(std::span(values));
  for (const size_t shift : {0, 4}) {
    const formats::SafetensorsTensor tensor{
        .name = "a", .dtype = D::kF32, .shape = {3}, .data = bytes.subspan(shift, 12)};
    TensorRecipe recipe;
    recipe.parts.push_back(std::make_shared<const StoredWeight>("a", tensor));
    const auto described = DescribeTensorPart(recipe, 0), made = ReadTensorPart(recipe, 0);
    ASSERT_TRUE(described && made);
    EXPECT_EQ(described->data.empty(), shift != 0);
    EXPECT_EQ(made->owned.empty(), shift == 0);
    float first = -1;
    std::memcpy(&first, made->data.data(), sizeof first);
    EXPECT_EQ(first, shift == 0 ? 0.0f : 1.0f);
  }
}

// 4 rows of 2 heads, whose first value is the row; a scale for each two rows.
TEST(TensorTypes, AnFp8LayoutIsInterleavedWithItsScales) {
  std::vector<std::byte> values(4 * 128);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(0x38 + i / 128);
  std::vector<float> scales{3.3f, 5.5f};
  const formats::SafetensorsTensor weight{.name = "w", .dtype = D::kF8E4m3, .shape = {4, 128}, .data = values};
  const formats::SafetensorsTensor of_blocks{
      .name = "s", .dtype = D::kF32, .shape = {2, 1}, .data = std::as_bytes(std::span(scales))};
  auto fp8 = formats::Fp8Weights::Open(weight, of_blocks, {2, 128});
  ASSERT_TRUE(fp8) << fp8.error().message;
  TensorRecipe recipe;
  recipe.parts.push_back(std::make_shared<const StoredWeight>("w", *fp8, uint64_t{1}));
  const auto rows = [&](TensorChange change, uint32_t heads) {
    recipe.change = change;
    recipe.heads = heads;
    const auto part = LayoutOfPart(recipe, 0);
    if (!part) return std::string("none");
    const auto layout = part->Make();
    const auto& made = std::get<formats::Fp8Layout>(*layout);
    EXPECT_TRUE(formats::Fits(made, 4, 128));
    std::string out;
    std::vector<float> row(128);
    for (int64_t r = 0; r < 4; ++r) {
      formats::ReadRow(made, r, 128, row.data());
      out += fmt::format("{:.4g} ", row[0]);
    }
    return out;
  };
  EXPECT_EQ(rows(TensorChange::kNone, 0), "3.3 3.712 6.875 7.562 ");
  EXPECT_EQ(rows(TensorChange::kInterleaveRows, 1), "3.3 6.875 3.712 7.562 ");
  EXPECT_EQ(rows(TensorChange::kInterleaveRows, 2), "3.3 3.712 6.875 7.562 ");
  EXPECT_EQ(rows(TensorChange::kTileRows, 1), "none");
  recipe.factors = {{.rows = 0, .factor = 2.0}};
  EXPECT_EQ(rows(TensorChange::kNone, 0), "none");
  recipe.factors.clear();
  recipe.change = TensorChange::kNone;
  EXPECT_FALSE(LayoutOfPart(recipe, 1));
  recipe.parts[0] = nullptr;
  EXPECT_FALSE(LayoutOfPart(recipe, 0));
}

TEST(TensorTypes, AScaleIsOneValue) {
  const StoredWeight scale("w.scale", formats::TensorScale{.value = 0.5f});
  EXPECT_EQ(scale.shape(), (std::vector<uint64_t>{1}));
  EXPECT_EQ(scale.stored_bytes(), 4u);
  EXPECT_EQ(scale.type(), TensorType::kF32);
  EXPECT_EQ(scale.Read().size(), 4u);
  EXPECT_FALSE(scale.layout());
  const StoredWeight none("n", formats::SafetensorsTensor{.name = "n", .dtype = D::kF32, .shape = {0}});
  EXPECT_TRUE(none.Read().empty());
  const StoredWeight words("u", formats::SafetensorsTensor{.name = "u", .dtype = D::kU32, .shape = {1}}, 3);
  EXPECT_EQ(words.type(), TensorType::kF32) << "GGUF has no such type";
  EXPECT_EQ(words.expert(), 3u);
}

}  // namespace
}  // namespace inferflux::model
