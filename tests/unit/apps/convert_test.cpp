// Converting a directory gives the file that PyPI's `gguf` writes for the same model (tests/data/models: NAME-hf and
// NAME.gguf, from tools/golden_models.py): bit-identical tensors, and the tokenizer in the file.
#include "apps/inferflux_convert/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include "compute/reference/reference_backend.h"
#include "formats/gguf/gguf_file.h"
#include "model/families/expect_golden.h"
#include "model/families/expect_hidden.h"

namespace inferflux::model {
extern template class ModelRunner<compute::Reference, compute::KvFp32>;
}  // namespace inferflux::model

namespace inferflux::apps {
namespace {

// The models have no tokenizer of their own.
void WriteTokenizer(const std::filesystem::path& directory, int tokens) {
  std::string vocab;
  for (int i = 0; i < tokens; ++i) vocab += fmt::format("{}\"t{}\":{}", i == 0 ? "" : ",", i, i);
  std::ofstream(directory / "tokenizer.json")
      << R"({"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" << vocab << R"(},"merges":[]}})";
}

class ConvertDirectory : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    const fs::path data = fs::path(INFERFLUX_SOURCE_DIR) / "tests" / "data" / "models";
    expected_ = (data / GetParam()).string() + ".gguf";
    directory_ = fs::path(::testing::TempDir()) / fmt::format("inferflux_convert_{}", GetParam());
    fs::copy(data / fmt::format("{}-hf", GetParam()), directory_,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const auto reference = formats::GgufFile::Open(expected_);
    ASSERT_TRUE(reference) << reference.error().message;
    tokens_ = (*reference)->FindTensor("token_embd.weight")->dims[1];
    WriteTokenizer(directory_, static_cast<int>(tokens_));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Run(const formats::QuantMix* mix = nullptr) {
    ThreadPool pool(2);
    std::ostringstream out;
    const auto summary = Convert({.directory = directory_.string(), .mix = mix}, out, pool,
                                 [](uint64_t done, uint64_t total, const std::string&) { EXPECT_LE(done, total); });
    EXPECT_TRUE(summary) << summary.error().message;
    return out.str();
  }

  std::string expected_;
  std::filesystem::path directory_;
  uint64_t tokens_ = 0;
};

TEST_P(ConvertDirectory, GivesTheReferencesTensors) {
  if (GetParam() == "qwen3_next") {
    GTEST_SKIP()
        << "ssm_in holds the reference's attn_qkv and attn_gate in the checkpoint's order; llama.cpp reads both";
  }
  if (GetParam() == "gemma4_moe") {
    GTEST_SKIP() << "the experts' gate and up are two tensors, and one in the reference; llama.cpp reads both";
  }
  const std::string bytes = Run();
  const auto ours = formats::GgufFile::Parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(ours) << ours.error().message;
  const auto reference = formats::GgufFile::Open(expected_);
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_EQ((*ours)->tensors().size(), (*reference)->tensors().size());
  for (const formats::GgufTensor& wanted : (*reference)->tensors()) {
    const formats::GgufTensor* found = (*ours)->FindTensor(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    ASSERT_EQ(found->type, wanted.type) << wanted.name;
    ASSERT_EQ(found->dims, wanted.dims) << wanted.name;
    const auto* a = reinterpret_cast<const float*>(found->data.data());
    const auto* b = reinterpret_cast<const float*>(wanted.data.data());
    const float slack =
        wanted.name == "rope_freqs.weight" || wanted.name.ends_with("ssm_a") ? 1e-6f : 0.0f;  // by two implementations
    for (uint64_t i = 0; i < wanted.elements(); ++i)
      ASSERT_LE(std::fabs(a[i] - b[i]), slack * std::fabs(b[i])) << wanted.name;
  }
  EXPECT_EQ((*ours)->metadata().Get<std::string>("general.architecture"),
            *(*reference)->metadata().Get<std::string>("general.architecture"));
  EXPECT_EQ((*ours)->metadata().Get<std::string>("tokenizer.ggml.pre"), "gpt-2");
  EXPECT_EQ((*ours)->metadata().Get<std::vector<std::string_view>>("tokenizer.ggml.tokens")->size(), tokens_);
}

TEST_P(ConvertDirectory, GivesAFileWithTransformersLogits) {
  const std::string bytes = Run(), path = directory_.string() + "/converted.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  compute::Reference::Context context;
  model::testing::ExpectGolden<compute::Reference>(context, path,
                                                   model::testing::ModelPath(GetParam() + ".golden.gguf"), 1e-4);
}

TEST_P(ConvertDirectory, QuantisesOnTheWay) {
  const std::string bytes = Run(*formats::FindQuantMix("Q8_0"));
  const auto ours = formats::GgufFile::Parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(ours) << ours.error().message;
  const bool whole_blocks = (*ours)->FindTensor("token_embd.weight")->dims[0] % 32 == 0;
  EXPECT_EQ((*ours)->FindTensor("token_embd.weight")->type,
            whole_blocks ? formats::TensorType::kQ8_0 : formats::TensorType::kF16);
  const char* norm =
      (*ours)->FindTensor("output_norm.weight") != nullptr ? "output_norm.weight" : "token_embd_norm.weight";
  ASSERT_NE((*ours)->FindTensor(norm), nullptr);
  EXPECT_EQ((*ours)->FindTensor(norm)->type, formats::TensorType::kF32);
}

INSTANTIATE_TEST_SUITE_P(Families, ConvertDirectory, ::testing::ValuesIn([] {
                           auto names = model::testing::GoldenModels("logits", "-hf");
                           std::erase(names, "gpt_oss");  // its directory has other blocks than the file
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

// Encoders and classifiers, with their heads.
class ConvertEncoder : public ConvertDirectory {};

TEST_P(ConvertEncoder, GivesAFileWithTransformersStatesAndScores) {
  const std::string bytes = Run(), path = directory_.string() + "/converted.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  compute::Reference::Context context;
  model::testing::ExpectHidden<compute::Reference>(context, path, GetParam(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Families, ConvertEncoder, ::testing::ValuesIn(model::testing::GoldenModels("hidden", "-hf")),
                         [](const auto& info) { return info.param; });

// Quantised checkpoints keep their integers: nothing is rounded on the way.
TEST(ConvertCheckpoint, GivesTheSmallestTypeThatHoldsTheWeights) {
  namespace fs = std::filesystem;
  const std::pair<const char*, formats::TensorType> cases[] = {
      {"gptq", formats::TensorType::kQ4_0},         {"awq", formats::TensorType::kQ8_0},
      {"gptq_desc_act", formats::TensorType::kF32}, {"ct_ints", formats::TensorType::kQ8_0},
      {"ct_mxfp4", formats::TensorType::kMxfp4},    {"fp8", formats::TensorType::kF32}};
  for (const auto& [name, type] : cases) {
    const fs::path directory = fs::path(::testing::TempDir()) / fmt::format("inferflux_convert_checkpoint_{}", name);
    fs::copy(fs::path(INFERFLUX_SOURCE_DIR) / "tests/data/checkpoints" / fmt::format("{}-hf", name), directory,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    WriteTokenizer(directory, 64);
    ThreadPool pool(2);
    std::ostringstream out;
    const auto summary =
        Convert({.directory = directory.string()}, out, pool, [](uint64_t, uint64_t, const std::string&) {});
    ASSERT_TRUE(summary) << summary.error().message;
    const std::string bytes = out.str();
    const auto file = formats::GgufFile::Parse(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->FindTensor("blk.0.ffn_up.weight")->type, type) << name;
    EXPECT_EQ((*file)->FindTensor("blk.0.attn_q.weight")->type, type) << name;
    fs::remove_all(directory);
  }
}

// MoE models with stacked experts, of which some are exact in smaller types than others, or each has a scale.
TEST(ConvertCheckpoint, OfMixturesGivesAFileThatComputesTheSame) {
  namespace fs = std::filesystem;
  using enum formats::TensorType;
  const std::tuple<const char*, formats::TensorType, formats::TensorType> cases[] = {
      {"mlx_qwen3_moe", kQ4_1, kF32},  {"mlx_qwen2_moe", kF32, kF32},   {"mlx_mixtral", kF32, kF32},
      {"mlx_plain_moe", kBf16, kBf16}, {"mlx_gpt_oss", kMxfp4, kMxfp4}, {"modelopt_moe", kNvfp4, kF32}};
  for (const auto& [name, up, down] : cases) {
    SCOPED_TRACE(name);
    const fs::path original = fs::path(INFERFLUX_SOURCE_DIR) / "tests/data/checkpoints";
    const fs::path directory = fs::path(::testing::TempDir()) / fmt::format("inferflux_convert_{}", name);
    fs::copy(original / fmt::format("{}-hf", name), directory,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    WriteTokenizer(directory, 64);
    const fs::path made = directory / "made.gguf";
    ThreadPool pool(2);
    std::ofstream out(made, std::ios::binary);
    const auto summary =
        Convert({.directory = directory.string()}, out, pool, [](uint64_t, uint64_t, const std::string&) {});
    ASSERT_TRUE(summary) << summary.error().message;
    out.close();
    const auto file = formats::GgufFile::Open(made);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->FindTensor("blk.0.ffn_up_exps.weight")->type, up);
    EXPECT_EQ((*file)->FindTensor("blk.0.ffn_down_exps.weight")->type, down);
    if (up == kNvfp4) {  // as llama.cpp's converter writes them
      for (const char* of : {"blk.0.ffn_up_exps.scale", "blk.0.ffn_down_exps.scale"}) {
        const auto* factors = (*file)->FindTensor(of);
        ASSERT_NE(factors, nullptr);
        EXPECT_EQ(factors->type, kF32);
        EXPECT_EQ(factors->rank, 1u);
        EXPECT_EQ(factors->dims[0], 3u);
      }
    }
    compute::Reference::Context context;
    model::testing::ExpectGolden<compute::Reference>(context, made, original / fmt::format("{}.golden.gguf", name),
                                                     1e-4);
    fs::remove_all(directory);
  }
}

}  // namespace
}  // namespace inferflux::apps
