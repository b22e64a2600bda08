// A model's tensors by name: their checks, the slices of experts, and what is counted over all of them.
#include "model/loading/model_source.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"

namespace inferflux::model {
namespace {

using formats::TensorType;

ModelSource::Tensor Floats(std::string name, int64_t rows, int64_t cols, float first = 0.0f) {
  const auto owner = std::make_shared<std::vector<float>>(static_cast<size_t>(rows * cols));
  std::iota(owner->begin(), owner->end(), first);
  return {.matrix = {.name = std::move(name),
                     .rows = rows,
                     .cols = cols,
                     .data = std::as_bytes(std::span(*owner)),
                     .owner = owner},
          .make = {},
          .file_bytes = rows * cols * 4};
}

ModelSource Source(std::vector<ModelSource::Tensor> tensors) {
  return ModelSource("file", "gguf", formats::GgufMetadataBuilder().Build("file"), std::move(tensors), nullptr);
}

template <class T>
std::string Told(const Result<T>& result) {
  return result ? "" : result.error().message;
}

std::string Numbers(const Result<std::vector<float>>& values) {
  return values ? fmt::format("{}", fmt::join(*values, " ")) : values.error().message;
}

std::vector<float> FloatsOf(const compute::HostMatrix& matrix) {
  const auto* first = reinterpret_cast<const float*>(matrix.data.data());
  return {first, first + matrix.data.size() / sizeof(float)};
}

TEST(ModelSourceTensors, AreCheckedByNameAndShape) {
  const ModelSource source = Source({Floats("a", 2, 3), Floats("v", 1, 4, 5)});
  EXPECT_EQ(source.path() + " " + source.format(), "file gguf");
  EXPECT_EQ(source.Find("a")->rows, 2);
  EXPECT_EQ(source.Find("b"), nullptr);
  EXPECT_EQ(source.LayoutOf("a"), nullptr);
  EXPECT_EQ(source.LayoutOf("b"), nullptr);
  EXPECT_EQ(source.taken_weights(), 0);
  EXPECT_EQ(Numbers(source.Values("a", 2, 3)), "0 1 2 3 4 5");
  EXPECT_EQ(source.taken_weights(), 6);
  EXPECT_EQ(Numbers(source.Vector("v", 4)), "5 6 7 8");
  EXPECT_EQ(source.taken_weights(), 10);
  EXPECT_EQ(Told(source.Matrix("b", 2, 3)), "file: tensor 'b' is missing");
  EXPECT_EQ(source.Matrix("b", 2, 3).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Told(source.Matrix("a", 3, 3)), "file: tensor 'a' is [2, 3], but the metadata makes it [3, 3]");
  EXPECT_EQ(Told(source.Matrix("a", 2, 2)), "file: tensor 'a' is [2, 3], but the metadata makes it [2, 2]");
  EXPECT_EQ(source.taken_weights(), 10) << "refused ones do not count";
  EXPECT_EQ(
      Told(ModelSource::Open("/nonexistent/m")),
      "there is no model file or directory '/nonexistent/m'; InferFlux does not download models: give the path of a "
      "GGUF file or of a Hugging Face directory that is here");
}

TEST(ModelSourceTensors, ExpertsAreSlicesOrTensorsOfTheirOwn) {
  const ModelSource source = Source({Floats("all", 6, 2), Floats("own[0]", 3, 2), Floats("own[1]", 3, 2, 100)});
  const auto second = source.Expert("all", 1, 2, 3, 2);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(FloatsOf(*second), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(second->rows, 3);
  EXPECT_EQ(second->cols, 2);
  EXPECT_EQ(source.taken_weights(), 6) << "the other expert is asked for by itself";
  EXPECT_EQ(FloatsOf(*source.Expert("own", 1, 2, 3, 2)).front(), 100);
  EXPECT_EQ(source.taken_weights(), 12);
  EXPECT_EQ(Told(source.Expert("all", 0, 3, 3, 2)), "file: tensor 'all' is [6, 2], but the metadata makes it [9, 2]");
  EXPECT_EQ(Told(source.Expert("own", 0, 2, 4, 2)),
            "file: tensor 'own[0]' is [3, 2], but the metadata makes it [4, 2]");
  EXPECT_TRUE(source.HasWholeOrExperts("all") && source.HasWholeOrExperts("own"));
  EXPECT_FALSE(source.HasWholeOrExperts("none"));
}

TEST(ModelSourceTensors, ANumberForEachExpertMayBeApart) {
  ModelSource::Tensor endless = Floats("endless", 1, 2);
  const auto values =
      std::make_shared<std::vector<float>>(std::vector<float>{1, std::numeric_limits<float>::infinity()});
  endless.matrix.data = std::as_bytes(std::span(*values));
  endless.matrix.owner = values;
  const ModelSource source =
      Source({Floats("whole", 1, 2, 3), Floats("apart[0]", 1, 1, 7), Floats("apart[1]", 1, 1, 9), endless});
  EXPECT_EQ(Numbers(source.OnePerExpert("whole", 2)), "3 4");
  EXPECT_EQ(Numbers(source.OnePerExpert("apart", 2)), "7 9");
  EXPECT_EQ(Numbers(source.OnePerExpert("apart", 3)), "file: tensor 'apart[2]' is missing");
  EXPECT_EQ(Numbers(source.OnePerExpert("whole", 3)),
            "file: tensor 'whole' is [1, 2], but the metadata makes it [1, 3]");
  EXPECT_EQ(Numbers(source.OnePerExpert("endless", 2)), "file: tensor 'endless' has a value that is no finite number");
}

TEST(ModelSourceTensors, WhatIsMadeIsMadeAtEachRequest) {
  int made = 0;
  ModelSource::Tensor tensor = Floats("t", 2, 2);
  tensor.make = [&made]() -> Result<compute::HostMatrix> {
    if (++made == 3) return Fail(ErrorCode::kDataLoss, "it broke");
    return Floats("t", 2, 2, 10).matrix;
  };
  tensor.matrix.data = {};
  const ModelSource source = Source({tensor});
  EXPECT_EQ(FloatsOf(*source.Matrix("t", 2, 2)).front(), 10);
  EXPECT_EQ(FloatsOf(*source.Matrix("t", 2, 2)).back(), 13);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(Told(source.Matrix("t", 2, 2)), "file: it broke");
}

TEST(ModelSourceTensors, LayoutsAreForThoseThatTakeThem) {
  const std::vector<std::byte> bytes(64);
  const formats::WeightLayout fp8 =
      formats::Fp8Layout{.block_outputs = 2, .block_inputs = 4, .values = std::span(bytes).first(8)};
  const formats::WeightLayout ordered = formats::ActOrderLayout{.type = TensorType::kQ8_0};
  const auto with = [](ModelSource::Tensor tensor, const formats::WeightLayout& layout) {
    tensor.layout =
        ModelSource::Tensor::Layout{layout, [layout] { return std::make_shared<const formats::WeightLayout>(layout); }};
    return tensor;
  };
  const ModelSource source = Source({with(Floats("f", 2, 4), fp8), with(Floats("o", 2, 32), ordered),
                                     with(Floats("o[0]", 2, 32), ordered), Floats("plain", 3, 2)});
  EXPECT_NE(source.LayoutOf("f"), nullptr);
  EXPECT_EQ(source.Matrix("f", 2, 4)->layout, nullptr);
  EXPECT_EQ(source.Matrix("f", 2, 4, {.ordered = true})->layout, nullptr);
  EXPECT_NE(source.Matrix("f", 2, 4, {.fp8 = true})->layout, nullptr);
  const int64_t floats = 4 * (8 + 64 + 64 + 6);
  EXPECT_EQ(source.WeightBytes(), floats);
  EXPECT_EQ(source.WeightBytes({.fp8 = true}), floats - 32 + 8 + 4);
  EXPECT_EQ(source.WeightBytes({.ordered = true}), floats - 256 + 2 * 34 + 32 * 4) << "experts have no order";
  EXPECT_EQ(source.commonest_type(), "Q8_0");
  EXPECT_EQ(source.parameters(), 8 + 64 + 64 + 6);
}

TEST(ModelSourceTensors, AreCountedWithoutVectors) {
  EXPECT_EQ(Source({}).commonest_type(), "none");
  EXPECT_EQ(Source({Floats("v", 1, 100)}).commonest_type(), "none");
  ModelSource::Tensor half = Floats("h", 2, 6);
  half.matrix.type = TensorType::kF16;
  ModelSource::Tensor brain = Floats("b", 2, 3);
  brain.matrix.type = TensorType::kBf16;
  const ModelSource source = Source({Floats("v", 1, 100), half, Floats("m", 5, 2), brain});
  EXPECT_EQ(source.commonest_type(), "F16");
  std::string names;
  for (const ModelSource::Tensor* tensor : source.Tensors()) names += tensor->matrix.name;
  EXPECT_EQ(names, "bhmv") << "by name";
  EXPECT_EQ(source.parameters(), 128);
}

TEST(ModelSourceTensors, ThoseThatNothingUsesAreListed) {
  const ModelSource source = Source({Floats("rope_freqs.weight", 1, 2), Floats("rope_factors_long.weight", 1, 2),
                                     Floats("blk.0.rope_freqs.weight", 1, 2), Floats("used", 1, 2),
                                     Floats("experts[0]", 1, 2), Floats("experts[1]", 1, 2), Floats("other", 1, 2),
                                     Floats("others[0]", 1, 2), Floats("xrope_factors", 1, 2)});
  EXPECT_EQ(source.UnusedTensors({"used", "experts"}),
            (std::vector<std::string>{"other", "others[0]", "xrope_factors"}));
}

}  // namespace
}  // namespace inferflux::model
