// What becomes of a checkpoint's tensor on its way to GGUF's: each change on a few numbers, and what cannot be changed.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "model/huggingface/stored_weight.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

using Change = TensorChange;
using Shape = std::vector<uint64_t>;

// "[rows, cols] values" of the numbers 0, 1, 2, ... after the change, or why there is none.
std::string Made(const Shape& shape, Change change, TensorRecipe recipe = {}) {
  std::vector<float> values(std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>()));
  std::iota(values.begin(), values.end(), 0.0f);
  formats::SafetensorsTensor tensor{.name = "w", .shape = shape, .data = std::as_bytes(std::span(values))};
  recipe.change = change;
  recipe.parts.push_back(std::make_shared<const StoredWeight>("w", tensor));
  const auto part = ReadTensorPart(recipe, 0);
  if (!part) return part.error().message;
  const auto described = DescribeTensorPart(recipe, 0);
  EXPECT_EQ(described->rows, part->rows);
  EXPECT_EQ(described->cols, part->cols);
  EXPECT_EQ(part->type, formats::TensorType::kF32);
  std::vector<float> made(part->data.size() / sizeof(float));
  std::memcpy(made.data(), part->data.data(), part->data.size());
  std::string out = fmt::format("[{}, {}]", part->rows, part->cols);
  for (const float value : made) out += fmt::format(" {:.4g}", value);
  return out;
}

TEST(TensorPart, IsTheTensorOrWhatWasComputed) {
  EXPECT_EQ(Made({2, 3}, Change::kNone), "[2, 3] 0 1 2 3 4 5");
  EXPECT_EQ(Made({4}, Change::kNone), "[1, 4] 0 1 2 3");
  EXPECT_EQ(Made({2, 1, 2}, Change::kNone), "[2, 2] 0 1 2 3");
  for (const Shape& none : {Shape{}, Shape{0, 3}, Shape{0}}) {
    EXPECT_EQ(Made(none, Change::kNone), "tensor 'w' is empty or a scalar");
  }
  const TensorRecipe computed{.computed = {3, 1, 2}};
  const auto part = ReadTensorPart(computed, 0);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->rows, 1);
  EXPECT_EQ(part->cols, 3);
  EXPECT_EQ(std::memcmp(part->data.data(), computed.computed.data(), 12), 0);
}

TEST(TensorPart, RowsOfHeadsAreReordered) {
  EXPECT_EQ(Made({8}, Change::kInterleaveRows, {.heads = 2}), "[1, 8] 0 2 1 3 4 6 5 7");
  EXPECT_EQ(Made({4, 2}, Change::kInterleaveRows, {.heads = 1}), "[4, 2] 0 1 4 5 2 3 6 7");
  EXPECT_EQ(Made({6}, Change::kInterleaveRows, {.heads = 2}),
            "tensor 'w' has 6 rows, which 2 heads cannot share in pairs");
  EXPECT_EQ(Made({6}, Change::kInterleaveRows, {.heads = 0}),
            "tensor 'w' has 6 rows, which 0 heads cannot share in pairs");
  EXPECT_EQ(Made({8}, Change::kUngroupRows, {.heads = 4, .kv_heads = 2}), "[1, 8] 0 1 4 5 2 6 3 7");
  EXPECT_EQ(Made({6, 2}, Change::kUngroupRows, {.heads = 1, .kv_heads = 1}), "[6, 2] 0 1 2 3 4 5 6 7 8 9 10 11")
      << "a head's rows stay together";
  EXPECT_EQ(Made({9}, Change::kUngroupRows, {.heads = 4, .kv_heads = 2}),
            "tensor 'w' has 9 rows, which 4 heads and 2 KV heads cannot share");
  EXPECT_EQ(Made({8}, Change::kUngroupRows, {.heads = 4, .kv_heads = 3}),
            "tensor 'w' has 8 rows, which 4 heads and 3 KV heads cannot share");
  EXPECT_EQ(Made({8}, Change::kUngroupRows, {.heads = 8, .kv_heads = 0}),
            "tensor 'w' has 8 rows, which 8 heads and 0 KV heads cannot share");
}

TEST(TensorPart, ValueHeadsAreTiled) {
  const auto heads = [](uint32_t all, uint32_t keys, uint32_t rows = 0) {
    return TensorRecipe{.value_heads = {.heads = all, .key_heads = keys, .key_rows = rows}};
  };
  EXPECT_EQ(Made({4}, Change::kTileRows, heads(4, 2)), "[1, 4] 0 2 1 3");
  EXPECT_EQ(Made({6, 2}, Change::kTileRows, heads(6, 2)), "[6, 2] 0 1 6 7 2 3 8 9 4 5 10 11");
  EXPECT_EQ(Made({6}, Change::kTileLastRows, heads(4, 2, 2)), "[1, 6] 0 1 2 4 3 5");
  EXPECT_EQ(Made({2, 4}, Change::kTileColumns, heads(4, 2)), "[2, 4] 0 2 1 3 4 6 5 7");
  EXPECT_EQ(Made({4}, Change::kTileNegatedExp, heads(4, 2)), "[1, 4] -1 -7.389 -2.718 -20.09");
  const std::string rows = " rows, which 4 value heads cannot share";
  EXPECT_EQ(Made({5}, Change::kTileRows, heads(4, 2)), "tensor 'w' has 5" + rows);
  EXPECT_EQ(Made({4}, Change::kTileRows, heads(4, 0)), "tensor 'w' has 4" + rows);
  EXPECT_EQ(Made({4}, Change::kTileRows, heads(4, 3)), "tensor 'w' has 4" + rows);
  EXPECT_EQ(Made({4}, Change::kTileLastRows, heads(4, 2, 4)), "tensor 'w' has 4" + rows);
  EXPECT_EQ(Made({3}, Change::kTileLastRows, heads(4, 2, 7)), "tensor 'w' has 3" + rows);
  EXPECT_EQ(Made({4, 6}, Change::kTileColumns, heads(4, 2)),
            "tensor 'w' has 6 columns, which 4 value heads cannot share");
}

TEST(TensorPart, ShapesAndValuesChange) {
  EXPECT_EQ(Made({3}, Change::kColumn), "[3, 1] 0 1 2");
  EXPECT_EQ(Made({2}, Change::kColumnOfNegatedExp), "[2, 1] -1 -2.718");
  EXPECT_EQ(Made({2}, Change::kNegatedExp), "[1, 2] -1 -2.718");
  EXPECT_EQ(Made({2}, Change::kAddOne), "[1, 2] 1 2");
  EXPECT_EQ(Made({6}, Change::kGroupRows, {.groups = 2}), "[2, 3] 0 1 2 3 4 5");
  EXPECT_EQ(Made({6}, Change::kGroupRows, {.groups = 4}), "tensor 'w' has 6 values, which 4 groups cannot share");
  EXPECT_EQ(Made({6}, Change::kGroupRows, {.groups = 0}), "tensor 'w' has 6 values, which 0 groups cannot share");
  EXPECT_EQ(Made({2, 3}, Change::kTranspose), "[3, 2] 0 3 1 4 2 5");
  EXPECT_EQ(Made({2, 4}, Change::kTransposeFirstHalf), "[2, 2] 0 4 1 5");
  EXPECT_EQ(Made({2, 4}, Change::kTransposeLastHalf), "[2, 2] 2 6 3 7");
  EXPECT_EQ(Made({2, 3}, Change::kTransposeLastHalf), "tensor 'w' has 3 columns, which are not two halves");
  EXPECT_EQ(Made({3, 2}, Change::kDropRows, {.dropped = 1}), "[2, 2] 2 3 4 5");
  EXPECT_EQ(Made({3, 2}, Change::kDropRows, {.dropped = 2}), "[1, 2] 4 5");
  EXPECT_EQ(Made({3, 2}, Change::kDropRows, {.dropped = 3}), "tensor 'w' has 3 rows, of which the first 3 are unused");
  EXPECT_EQ(Made({2, 2}, Change::kPadRows, {.padded = 4}), "[4, 2] 0 1 2 3 0 1 0 1");
  EXPECT_EQ(Made({2, 2}, Change::kPadRows, {.padded = 2}), "[2, 2] 0 1 2 3");
  EXPECT_EQ(Made({2, 2}, Change::kPadRows, {.padded = 1}), "tensor 'w' has 2 rows for 1 tokens");
}

// Two heads, each with two rows of its key and one of its value.
TEST(TensorPart, OfLatentsKeysAndValuesAreApart) {
  TensorRecipe recipe{.heads = 2, .latents = {.rank = 2, .plain_rows = 2, .value_rows = 1}};
  EXPECT_EQ(Made({6, 2}, Change::kHeadKeys, recipe), "[4, 2] 0 2 1 3 6 8 7 9");
  EXPECT_EQ(Made({6, 2}, Change::kHeadValues, recipe), "[2, 2] 4 5 10 11");
  const std::string wanted = ", but 2 heads of 3 rows make it [6, 2]";
  EXPECT_EQ(Made({5, 2}, Change::kHeadKeys, recipe), "tensor 'w' is [5, 2]" + wanted);
  EXPECT_EQ(Made({6, 3}, Change::kHeadValues, recipe), "tensor 'w' is [6, 3]" + wanted);
  EXPECT_EQ(Made({6, 2, 1}, Change::kHeadValues, recipe), "tensor 'w' is [6, 2, 1]" + wanted);
  for (const Change change : {Change::kHeadKeys, Change::kHeadValues}) {
    recipe.change = change;
    EXPECT_EQ(StackedMatrices(recipe), 2u);
  }
  recipe.change = Change::kTranspose;
  EXPECT_EQ(StackedMatrices(recipe), 1u);
}

TEST(TensorPart, RowsAreMultipliedByTheirFactors) {
  EXPECT_EQ(Made({3, 2}, Change::kNone, {.factors = {{.rows = 1, .factor = 2}, {.rows = 0, .factor = 3}}}),
            "[3, 2] 0 2 6 9 12 15");
  EXPECT_EQ(Made({3, 2}, Change::kNone, {.factors = {{.rows = 1, .factor = 2}}}), "[3, 2] 0 2 2 3 4 5");
  EXPECT_EQ(Made({4}, Change::kNone, {.factors = {{.rows = 0, .factor = 0.5}}}), "[1, 4] 0 0.5 1 1.5");
  EXPECT_EQ(Made({4, 1}, Change::kNone, {.factors = {{.rows = 2, .factor = 10}, {.rows = 1, .factor = 100}}}),
            "[4, 1] 0 10 200 3");
  EXPECT_EQ(Made({2}, Change::kAddOne, {.factors = {{.rows = 0, .factor = 2}}}), "tensor 'w' changes in two ways");
}

}  // namespace
}  // namespace inferflux::model
