// Quantises complete files: the named mixes choose types as llama.cpp does, and values, names and metadata survive.
#include "formats/quantize/quantize_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <sstream>

#include "formats/gguf/gguf_writer.h"
#include "formats/quant/dequantize.h"

namespace inferflux::formats {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<uint64_t>;

TensorType Chosen(const char* mix, const MixModel& model, std::string_view name, Dims dims = {256, 256}) {
  GgufTensor tensor{.name = name, .type = TensorType::kF32, .rank = static_cast<uint32_t>(dims.size())};
  std::copy(dims.begin(), dims.end(), tensor.dims.begin());
  return ChooseType(**FindQuantMix(mix), model, tensor);
}

TEST(QuantMix, SpendsBitsWhereErrorsHurt) {
  const MixModel llama{.layers = 32};
  EXPECT_EQ(Chosen("Q4_K_M", llama, "blk.7.attn_q.weight"), TensorType::kQ4_K);
  EXPECT_EQ(Chosen("Q4_K_M", llama, "output.weight"), TensorType::kQ6_K);
  EXPECT_EQ(Chosen("Q4_K_M", llama, "token_embd.weight"), TensorType::kQ4_K);
  EXPECT_EQ(Chosen("Q4_K_M", {.layers = 32, .tied_embeddings = true}, "token_embd.weight"), TensorType::kQ6_K);
  for (int layer = 0; layer < 32; ++layer) {  // first and last four, and every third between them: 4 + 8 + 4
    const bool more = layer < 4 || layer >= 28 || (layer - 4) % 3 == 2;
    const auto expected = more ? TensorType::kQ6_K : TensorType::kQ4_K;
    EXPECT_EQ(Chosen("Q4_K_M", llama, fmt::format("blk.{}.ffn_down.weight", layer)), expected) << layer;
    EXPECT_EQ(Chosen("q4_k", llama, fmt::format("blk.{}.attn_v.weight", layer)), expected) << layer;
  }
  EXPECT_EQ(Chosen("Q3_K_M", llama, "blk.1.attn_v.weight"), TensorType::kQ5_K);
  EXPECT_EQ(Chosen("Q3_K_M", llama, "blk.2.attn_v.weight"), TensorType::kQ4_K);
  EXPECT_EQ(Chosen("Q2_K", {.layers = 32, .queries_per_value_head = 4}, "blk.2.attn_v.weight"), TensorType::kQ4_K);
  EXPECT_EQ(Chosen("Q2_K", llama, "blk.2.attn_v.weight"), TensorType::kQ3_K);
  EXPECT_EQ(Chosen("Q4_K_M", {.layers = 32, .experts = 8}, "blk.9.attn_k.weight"), TensorType::kQ8_0);
  EXPECT_EQ(Chosen("MXFP4_MOE", {.layers = 32, .experts = 32}, "blk.9.ffn_up_exps.weight", {256, 64, 32}),
            TensorType::kMxfp4);
  EXPECT_EQ(Chosen("MXFP4_MOE", {.layers = 32, .experts = 32}, "blk.9.attn_q.weight"), TensorType::kQ8_0);
  EXPECT_EQ(Chosen("MXFP4", llama, "blk.9.attn_q.weight"), TensorType::kMxfp4);
}

TEST(QuantMix, LeavesSmallTensorsAndFindsATypeForEveryRow) {
  const MixModel llama{.layers = 32};
  EXPECT_EQ(Chosen("Q4_0", llama, "blk.0.attn_norm.weight", {256}), TensorType::kF32);
  EXPECT_EQ(Chosen("Q4_0", llama, "blk.0.attn_q.bias", {256}), TensorType::kF32);
  EXPECT_EQ(Chosen("Q4_0", llama, "blk.0.ffn_gate_inp.weight"), TensorType::kF32);
  EXPECT_EQ(Chosen("Q4_K_M", llama, "blk.9.ffn_up.weight", {96, 8}), TensorType::kQ5_0);
  EXPECT_EQ(Chosen("Q6_K", llama, "blk.9.ffn_up.weight", {96, 8}), TensorType::kQ8_0);
  EXPECT_EQ(Chosen("Q4_K_M", llama, "blk.9.ffn_up.weight", {97, 8}), TensorType::kF16);
  EXPECT_EQ(Chosen("Q4_0", {.layers = 32, .has_importance = true}, "blk.0.ffn_down.weight"), TensorType::kQ4_1);
  EXPECT_THAT(FindQuantMix("Q9").error().message, ::testing::AllOf(HasSubstr("Q9"), HasSubstr("Q4_K_M")));
}

class QuantizeFile : public ::testing::Test {
 protected:
  // A model of two layers with normally distributed weights.
  std::string MakeModel(float spoiled = 0.0f, bool with_output = false) {
    std::ostringstream out;
    GgufWriter writer(out);
    writer.Set("general.architecture", "llama");
    writer.Set<uint32_t>("llama.block_count", 2);
    writer.Set<uint32_t>("llama.attention.head_count", 4);
    writer.Set<uint16_t>("split.count", 1);
    std::vector<std::pair<const char*, Dims>> tensors = {{"token_embd.weight", {256, 40}},
                                                         {"blk.0.attn_norm.weight", {256}},
                                                         {"blk.0.ffn_down.weight", {512, 256}},
                                                         {"blk.1.ffn_down.weight", {512, 256}}};
    if (with_output) tensors.emplace_back("output.weight", Dims{256, 40});
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal(0.0f, 0.02f);
    for (const auto& [name, dims] : tensors) EXPECT_TRUE(writer.AddTensor(name, TensorType::kF32, dims));
    EXPECT_TRUE(writer.WriteHeader());
    for (const auto& [name, dims] : tensors) {
      std::vector<float> values(dims[0] * (dims.size() > 1 ? dims[1] : 1));
      for (float& value : values) value = normal(random);
      if (spoiled != 0.0f) values[77] = spoiled;
      EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(values))));
    }
    EXPECT_TRUE(writer.Finish());
    return out.str();
  }

  Result<std::vector<QuantizedTensor>> Run(const GgufFile& file, const char* mix, std::string& written, int threads = 2,
                                           const ImportanceMatrix* importance = nullptr) {
    ThreadPool pool(threads);
    std::ostringstream out;
    auto tensors = QuantizeGguf(file, out, {*FindQuantMix(mix), importance, false}, pool,
                                [&](uint64_t done, uint64_t total, const GgufTensor&) {
                                  EXPECT_GE(done, progress_);
                                  EXPECT_LE(done, total);
                                  progress_ = done == total ? 0 : done;
                                });
    written = out.str();
    return tensors;
  }

  uint64_t progress_ = 0;
};

TEST_F(QuantizeFile, KeepsNamesMetadataAndNearlyTheValues) {
  const std::string model = MakeModel();
  const auto source = GgufFile::Parse(std::as_bytes(std::span(model)));
  ASSERT_TRUE(source);
  const std::pair<const char*, double> mixes[] = {{"Q8_0", 2e-4}, {"Q4_K_M", 2e-3}, {"Q2_K", 6e-3}, {"F16", 1e-5}};
  for (const auto& [mix, bound] : mixes) {
    std::string written;
    const auto tensors = Run(**source, mix, written);
    ASSERT_TRUE(tensors) << tensors.error().message;
    const auto result = GgufFile::Parse(std::as_bytes(std::span(written)));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)->metadata().Get<uint32_t>("llama.block_count"), 2u);
    EXPECT_EQ((*result)->metadata().Get<uint32_t>("general.file_type"), (*FindQuantMix(mix))->file_type);
    EXPECT_FALSE((*result)->metadata().Contains("split.count"));
    for (const QuantizedTensor& tensor : *tensors) {
      const GgufTensor* found = (*result)->FindTensor(tensor.source->name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->type, tensor.type);
      std::vector<float> values(found->elements());
      DequantizeRow(found->type, found->data.data(), values.data(), static_cast<int64_t>(values.size()));
      const auto* original = reinterpret_cast<const float*>(tensor.source->data.data());
      double squares = 0.0;
      for (size_t i = 0; i < values.size(); ++i) squares += std::pow(values[i] - original[i], 2);
      const double rmse = std::sqrt(squares / static_cast<double>(values.size()));
      EXPECT_NEAR(rmse, tensor.rmse, 1e-9) << mix << " " << found->name;
      EXPECT_LT(rmse, bound) << mix << " " << found->name;
    }
  }
}

// Embeddings that are the output's weights too decide over every token: they get the output's type.
TEST_F(QuantizeFile, SparesEmbeddingsThatAreTheOutputToo) {
  for (const bool tied : {true, false}) {
    const std::string model = MakeModel(0.0f, !tied);
    const auto source = GgufFile::Parse(std::as_bytes(std::span(model)));
    std::string written;
    ASSERT_TRUE(Run(**source, "Q4_K_M", written));
    const auto result = GgufFile::Parse(std::as_bytes(std::span(written)));
    const auto expected = tied ? TensorType::kQ6_K : TensorType::kQ4_K;
    EXPECT_EQ((*result)->FindTensor("token_embd.weight")->type, expected) << tied;
  }
}

TEST_F(QuantizeFile, GivesTheSameBytesForAnyNumberOfThreads) {
  const std::string model = MakeModel();
  const auto source = GgufFile::Parse(std::as_bytes(std::span(model)));
  std::string one;
  std::string three;
  ASSERT_TRUE(Run(**source, "Q3_K_M", one, 1));
  ASSERT_TRUE(Run(**source, "Q3_K_M", three, 3));
  EXPECT_EQ(one, three);
}

TEST_F(QuantizeFile, RefusesDamagedWeightsByName) {
  const std::string model = MakeModel(std::numeric_limits<float>::infinity());
  const auto source = GgufFile::Parse(std::as_bytes(std::span(model)));
  std::string written;
  const auto tensors = Run(**source, "Q4_0", written);
  ASSERT_FALSE(tensors);
  EXPECT_THAT(tensors.error().message, ::testing::AllOf(HasSubstr("token_embd.weight"), HasSubstr("not finite")));
}

std::string MakeImportance(size_t columns) {
  std::ostringstream out;
  GgufWriter writer(out);
  std::vector<float> sums(columns, 0.02f);
  for (size_t i = 0; i < columns; i += 8) sums[i] = 200.0f;
  const float count = 2.0f;
  EXPECT_TRUE(writer.AddTensor("blk.1.ffn_down.weight.in_sum2", TensorType::kF32, Dims{columns, 1}));
  EXPECT_TRUE(writer.AddTensor("blk.1.ffn_down.weight.counts", TensorType::kF32, Dims{1, 1}));
  EXPECT_TRUE(writer.WriteHeader());
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(sums))));
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(&count, 1))));
  EXPECT_TRUE(writer.Finish());
  return out.str();
}

// Important columns have smaller errors than without the matrix.
TEST_F(QuantizeFile, FollowsAnImportanceMatrix) {
  const std::string model = MakeModel();
  const auto source = GgufFile::Parse(std::as_bytes(std::span(model)));
  const std::string importance = MakeImportance(512);
  const auto matrix = ImportanceMatrix::FromGguf(**GgufFile::Parse(std::as_bytes(std::span(importance))));
  ASSERT_TRUE(matrix) << matrix.error().message;
  const auto error_of = [&](const ImportanceMatrix* given) {
    std::string written;
    EXPECT_TRUE(Run(**source, "Q4_K_S", written, 2, given));
    const auto result = GgufFile::Parse(std::as_bytes(std::span(written)));
    const GgufTensor* tensor = (*result)->FindTensor("blk.1.ffn_down.weight");
    std::vector<float> values(tensor->elements());
    DequantizeRow(tensor->type, tensor->data.data(), values.data(), static_cast<int64_t>(values.size()));
    const auto* original = reinterpret_cast<const float*>((*source)->FindTensor("blk.1.ffn_down.weight")->data.data());
    double squares = 0.0;
    for (size_t i = 0; i < values.size(); i += 8) squares += std::pow(values[i] - original[i], 2);
    return squares;
  };
  EXPECT_LT(error_of(&*matrix), 0.6 * error_of(nullptr));
}

TEST_F(QuantizeFile, RefusesAnotherModelsImportance) {
  const std::string model = MakeModel();
  const auto source = GgufFile::Parse(std::as_bytes(std::span(model)));
  const std::string importance = MakeImportance(256);
  const auto matrix = ImportanceMatrix::FromGguf(**GgufFile::Parse(std::as_bytes(std::span(importance))));
  ASSERT_TRUE(matrix);
  std::string written;
  EXPECT_THAT(Run(**source, "Q4_K_S", written, 2, &*matrix).error().message, HasSubstr("made from another model"));
  EXPECT_THAT(ImportanceMatrix::FromGguf(**source).error().message, HasSubstr("holds no importance"));
}

}  // namespace
}  // namespace inferflux::formats
