// Every family's logits on MLX against transformers': whatever has a golden file, and one directory.
#include <algorithm>
#include <filesystem>

#include "compute/mlx/mlx_backend.h"
#include "model/expect_golden.h"
#include "model/expect_hidden.h"

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

class MlxEncoder : public ::testing::TestWithParam<std::string> {};

TEST_P(MlxEncoder, EqualsTransformers) {
  compute::Mlx::Context context;
  testing::ExpectHidden<compute::Mlx>(context, GetParam() + ".gguf", GetParam(), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, MlxEncoder, ::testing::ValuesIn(Families(true)),
                         [](const auto& info) { return info.param; });

TEST(MlxGoldenDirectory, AHuggingFaceDirectoryLoadsThroughTheSamePath) {
  compute::Mlx::Context context;
  testing::ExpectGolden<compute::Mlx>(context, testing::ModelPath("llama3-hf"),
                                      testing::ModelPath("llama3.golden.gguf"), kBound);
}

}  // namespace
}  // namespace inferflux::model
