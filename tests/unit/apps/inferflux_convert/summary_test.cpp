// What a conversion says of itself: its sums, its progress, and what the file says of the whole model; and which
// directories it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <string>

#include "apps/inferflux_convert/converted.h"

namespace inferflux::apps {
namespace {

namespace json = boost::json;
using formats::TensorType;

TEST(ConvertSummaryTest, ItsSumsAreThoseOfTheFile) {
  for (const char* mix : {"", "Q8_0"}) {
    const ConvertedDirectory directory("models/llama3-hf", 96);
    const auto outcome = directory.Convert(*mix == '\0' ? nullptr : *formats::FindQuantMix(mix));
    ASSERT_EQ(outcome.error, "");
    uint64_t weights = 0, bytes = 0;
    for (const formats::GgufTensor& tensor : outcome.file->tensors()) {
      weights += tensor.elements();
      bytes += tensor.data.size();
    }
    EXPECT_EQ(outcome.summary.tensors, outcome.file->tensors().size());
    EXPECT_EQ(outcome.summary.weights, weights);
    EXPECT_EQ(outcome.summary.bytes, bytes);
  }
}

TEST(ConvertSummaryTest, ProgressCountsTheBytesThatAreRead) {
  for (const auto& [name, tokens, stored] :
       {std::tuple{"models/qwen2_moe-hf", 96, 156032}, {"models/ernie4_5_moe-hf", 41, 101128}}) {
    const ConvertedDirectory directory(name, tokens);
    const auto outcome = directory.Convert();
    ASSERT_EQ(outcome.error, "");
    ASSERT_FALSE(outcome.told.empty());
    uint64_t last = 0, before_tensor = 0;
    size_t tensor = 0;
    for (size_t i = 0; i < outcome.told.size(); ++i) {
      const auto& told = outcome.told[i];
      EXPECT_EQ(told.total, stored);
      EXPECT_EQ(told.done % sizeof(float), 0u) << "whole values";
      EXPECT_GT(told.done, last);
      EXPECT_EQ(told.tensor, outcome.file->tensors()[tensor].name);
      last = told.done;
      if (i + 1 == outcome.told.size() || outcome.told[i + 1].tensor != told.tensor) {
        EXPECT_EQ(told.done - before_tensor, outcome.file->tensors()[tensor++].elements() * sizeof(float));
        before_tensor = told.done;
      }
    }
    EXPECT_EQ(last, stored);
    EXPECT_EQ(tensor, outcome.file->tensors().size());
  }
}

TEST(ConvertSummaryTest, TheFileIsNamedByItsFolderAndItsType) {
  const ConvertedDirectory floats("models/llama3-hf", 96);
  const auto type = [](const ConvertedDirectory::Outcome& outcome) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.file->metadata().Get<std::string>("general.name"), "model-1.5b");
    EXPECT_EQ(outcome.file->metadata().Get<uint32_t>("general.quantization_version"), 2u);
    return *outcome.file->metadata().Get<uint32_t>("general.file_type");
  };
  EXPECT_EQ(type(floats.Convert()), 0u);
  EXPECT_EQ(type(floats.Convert(*formats::FindQuantMix("F16"))), 1u);
  EXPECT_EQ(type(floats.Convert(*formats::FindQuantMix("Q8_0"))), 7u);
  EXPECT_EQ(*floats.Convert(nullptr, "qwen2").file->metadata().Get<std::string>("tokenizer.ggml.pre"), "qwen2");
  floats.EditTensors([](json::object& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name == "__metadata__") continue;
      tensor.at("dtype") = "F16";
      for (json::value& offset : tensor.at("data_offsets").as_array()) offset = offset.to_number<int64_t>() / 2;
    }
  });
  const std::string file = floats.path() + "/model.safetensors";
  const auto header = std::filesystem::file_size(file) - 86656;
  std::filesystem::resize_file(file, header);
  std::filesystem::resize_file(file, header + 86656 / 2);  // zeros
  const auto halves = floats.Convert();
  EXPECT_EQ(type(halves), 1u);
  EXPECT_EQ(halves.file->FindTensor("blk.0.attn_q.weight")->type, TensorType::kF16);
  EXPECT_EQ(halves.file->FindTensor("blk.0.attn_norm.weight")->type, TensorType::kF32) << "a vector";
  EXPECT_EQ(halves.told.back().total, 86656u / 2 + 8 * sizeof(float)) << "and the factors of RoPE, which are computed";
}

TEST(ConvertSummaryTest, ShortFloatsHaveATypeOfTheirOwn) {
  const ConvertedDirectory shorts("checkpoints/mlx_plain_moe-hf", 64);
  const auto outcome = shorts.Convert();
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.file->metadata().Get<uint32_t>("general.file_type"), 32u);
}

TEST(ConvertSummaryTest, ExpertsOfDifferentShapesDoNotBelongTogether) {
  const ConvertedDirectory directory("models/qwen2_moe-hf", 96);
  std::string turned;
  directory.EditTensors([&](json::object& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (std::string_view(name).find("experts.1.up_proj") == std::string_view::npos) continue;
      json::array& shape = tensor.at("shape").as_array();
      std::swap(shape[0], shape[1]);
      turned = name;
      return;
    }
  });
  ASSERT_NE(turned, "");
  std::string first = turned;
  first.replace(first.find("experts.1"), 9, "experts.0");
  EXPECT_EQ(directory.Convert().error,
            directory.path() + ": tensors '" + first + "' and '" + turned + "' differ in shape, but belong together");
}

TEST(ConvertSummaryTest, ATensorHasAtMostFourDimensions) {
  const auto with = [](int more) {
    const ConvertedDirectory directory("models/llama3-hf", 96);
    directory.EditTensors([&](json::object& tensors) {
      json::array& shape = tensors.at("model.layers.0.self_attn.v_proj.weight").at("shape").as_array();
      for (int i = 0; i < more; ++i) shape.insert(shape.begin(), 1);
    });
    return directory.Convert();
  };
  EXPECT_THAT(with(3).error, ::testing::EndsWith(": tensor 'blk.0.attn_v.weight' has 5 dimensions; GGUF holds 1 to 4"));
  EXPECT_THAT(with(2).error, ::testing::Not(::testing::HasSubstr("GGUF holds")));
}

}  // namespace
}  // namespace inferflux::apps
