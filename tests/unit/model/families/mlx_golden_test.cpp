// Compares every family's logits on MLX with transformers': all golden files, and one directory.
#include <algorithm>
#include <filesystem>

#include "compute/mlx/mlx_backend.h"
#include "model/families/expect_golden.h"
#include "model/families/expect_hidden.h"
#include "model/families/load_runner.h"
#include "model/loading/scaled_model.h"

namespace inferflux::model {
namespace {

constexpr double kBound = 1e-4;

std::vector<std::string> Families(bool encoders) {
  std::vector<std::string> names;
  const std::string ending = ".golden.gguf";
  for (const auto& entry : std::filesystem::directory_iterator(testing::ModelPath(""))) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(ending)) continue;
    const auto file = formats::GgufFile::Open(entry.path());
    const bool encoder = file && (*file)->FindTensor("hidden") != nullptr;
    if (encoder == encoders) names.push_back(name.substr(0, name.size() - ending.size()));
  }
  std::ranges::sort(names);
  return names;
}

class MlxGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(MlxGolden, EqualsTransformers) {
  compute::Mlx::Context context;
  testing::ExpectGolden<compute::Mlx>(context, testing::ModelPath(GetParam() + ".gguf"),
                                      testing::ModelPath(GetParam() + ".golden.gguf"), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, MlxGolden, ::testing::ValuesIn(Families(false)),
                         [](const auto& info) { return info.param; });

TEST(MlxTensorScales, ScaleWhatMatmulsYield) {
  for (const char* name : {"qwen2", "qwen2_moe"}) {
    SCOPED_TRACE(name);
    compute::Mlx::Context context;
    testing::ExpectGolden<compute::Mlx>(context, testing::ScaledModel(name),
                                        testing::ModelPath(name + std::string(".golden.gguf")), kBound);
  }
}

// Weights with an act-order permutation, compared with transformers' results on float weights.
TEST(MlxGoldenDirectory, InputsInAnotherOrderArePutInIt) {
  for (const char* name : {"gptq_act_order", "gptq_desc_act"}) {
    SCOPED_TRACE(name);
    compute::Mlx::Context context;
    const std::string path = testing::DataPath("checkpoints/") + name;
    testing::ExpectGolden<compute::Mlx>(context, path + "-hf", path + ".golden.gguf", kBound);
  }
}

class MlxEncoderFamilies : public ::testing::TestWithParam<std::string> {};

// MPNet adds a bias to its attention scores, which MLX's fused attention takes only as a whole mask: it is refused by
// the name of what is missing, and the chain goes on.
bool NeedsWhatMlxLacks(const std::string& name) { return name.starts_with("mpnet"); }

TEST(MlxEncoder, WhatItLacksIsNamed) {
  compute::Mlx::Context context;
  const auto source = ModelSource::Open(testing::ModelPath("mpnet.gguf"));
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source);
  ASSERT_TRUE(config) << config.error().message;
  const auto runner = ModelRunner<compute::Mlx, compute::KvFp32>::Load(context, *config, *source, 24, 16);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(runner.error().message.find("needs AttentionBiases"), std::string::npos);
}

TEST_P(MlxEncoderFamilies, EqualsTransformers) {
  if (NeedsWhatMlxLacks(GetParam())) GTEST_SKIP() << "refused, as the test above says";
  compute::Mlx::Context context;
  testing::ExpectHidden<compute::Mlx>(context, GetParam() + ".gguf", GetParam(), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, MlxEncoderFamilies, ::testing::ValuesIn(Families(true)),
                         [](const auto& info) { return info.param; });

TEST(MlxGoldenDirectory, AHuggingFaceDirectoryLoadsThroughTheSamePath) {
  compute::Mlx::Context context;
  testing::ExpectGolden<compute::Mlx>(context, testing::ModelPath("llama3-hf"),
                                      testing::ModelPath("llama3.golden.gguf"), kBound);
}

// MLX's own checkpoints in their own layout: matmuls on the file's groups without conversion (tools/mlx_golden.py).
TEST(MlxGoldenDirectory, ItsOwnCheckpointsLoadAsTheyAre) {
  for (const int bits : {4, 8}) {
    SCOPED_TRACE(bits);
    compute::Mlx::Context context;
    const std::string path = testing::DataPath("checkpoints/mlx_" + std::to_string(bits));
    testing::ExpectGolden<compute::Mlx>(context, path + "-hf", path + ".golden.gguf", kBound);
    EXPECT_EQ(compute::Mlx::LoadNotes(context).size(), 1u) << "nothing was held in another layout";
    const auto source = ModelSource::Open(path + "-hf");
    EXPECT_EQ((*source)->commonest_type(), "MLX " + std::to_string(bits) + "-bit");
    const auto matrix = (*source)->Matrix("blk.0.attn_q.weight", 64, 64,
                                          compute::Mlx::kWeightLayouts);  // a tensor with reordered rows
    ASSERT_TRUE(matrix && matrix->layout);
    EXPECT_TRUE(matrix->data.empty());
  }
}

TEST(MlxGoldenDirectory, OtherToolsCheckpointsLoad) {
  for (const char* name : {"ct_ints", "ct_nvfp4", "ct_mxfp4", "modelopt_moe"}) {
    SCOPED_TRACE(name);
    compute::Mlx::Context context;
    const std::string path = testing::DataPath("checkpoints/") + name;
    testing::ExpectGolden<compute::Mlx>(context, path + "-hf", path + ".golden.gguf", kBound);
  }
}

TEST(MlxGoldenDirectory, ItsOwnMixturesLoadAsTheyAre) {
  for (const char* name : {"mlx_qwen3_moe", "mlx_qwen2_moe", "mlx_mixtral", "mlx_plain_moe", "mlx_gpt_oss"}) {
    SCOPED_TRACE(name);
    compute::Mlx::Context context;
    const std::string path = testing::DataPath("checkpoints/") + name;
    testing::ExpectGolden<compute::Mlx>(context, path + "-hf", path + ".golden.gguf", kBound);
    EXPECT_EQ(compute::Mlx::LoadNotes(context).size(), 1u) << "nothing was held in another layout";
  }
  const auto source = ModelSource::Open(testing::DataPath("checkpoints/mlx_qwen3_moe-hf"));
  ASSERT_TRUE(source) << source.error().message;
  const auto expert = (*source)->Expert("blk.0.ffn_down_exps.weight", 3, 4, 64, 32, compute::Mlx::kWeightLayouts);
  ASSERT_TRUE(expert && expert->layout);
  EXPECT_TRUE(expert->data.empty());
  const auto router = (*source)->Matrix("blk.0.ffn_gate_inp.weight", 4, 64, compute::Mlx::kWeightLayouts);
  ASSERT_TRUE(router && router->layout);
  const auto& groups = std::get<formats::AffineLayout>(*router->layout);
  EXPECT_EQ(groups.bits, 8) << "config.json gives the router a layout of its own";
  EXPECT_EQ(groups.group, 64);
}

}  // namespace
}  // namespace inferflux::model
