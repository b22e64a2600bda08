// Compares every family's logits on CUDA with transformers'. In a build without a GPU the host executor runs the
// kernels.
#include "compute/cuda/cuda_backend.h"
#include "model/families/expect_golden.h"
#include "model/families/expect_hidden.h"
#include "model/families/load_runner.h"

namespace inferflux::model {
namespace {

using compute::Cuda;

constexpr double kBound = 1e-4;
// Weights of 16 bits and less: prompts are rounded to 16 bits. gpt_oss comes to 7.6e-3.
constexpr double kTensorCoreBound = 1e-2;
constexpr double kThinBound = 3e-3;
constexpr int kTies = 2;

std::unique_ptr<Cuda::Context> OpenContext() {
  auto context = Cuda::CreateContext({});
  if (!context) throw std::runtime_error(context.error().message);
  return std::move(*context);
}

class CudaGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaGolden, EqualsTransformers) {
  const std::string path = testing::ModelPath(GetParam() + ".gguf");
  const auto context = OpenContext();
  const bool floats = testing::IsFloat(path);
  testing::ExpectGolden<Cuda>(*context, path, testing::ModelPath(GetParam() + ".golden.gguf"),
                              floats ? kBound : kTensorCoreBound, floats ? 0 : kTies);
}

// Few rows are multiplied in float by dense weights; by blocks of weights, the inputs are rounded to 16 bits.
TEST_P(CudaGolden, EqualsTransformersInStepsOfFewRows) {
  const std::string path = testing::ModelPath(GetParam() + ".gguf");
  const auto context = OpenContext();
  if (testing::IsFloat(path)) return;
  const bool dense = testing::IsDense(path);
  testing::ExpectGolden<Cuda>(*context, path, testing::ModelPath(GetParam() + ".golden.gguf"),
                              dense ? kBound : kThinBound, dense ? 0 : kTies, 4);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaGolden, ::testing::ValuesIn(testing::GoldenModels("logits", ".gguf")),
                         [](const auto& info) { return info.param; });

class CudaEncoders : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaEncoders, EqualTransformers) {
  const auto context = OpenContext();
  testing::ExpectHidden<Cuda>(*context, GetParam() + ".gguf", GetParam(), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaEncoders, ::testing::ValuesIn(testing::GoldenModels("hidden", ".gguf")),
                         [](const auto& info) { return info.param; });

class CudaCheckpoints : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaCheckpoints, EqualTransformers) {
  const auto context = OpenContext();
  const std::string path = testing::DataPath("checkpoints/") + GetParam();
  testing::ExpectGolden<Cuda>(*context, path + "-hf", path + ".golden.gguf", kTensorCoreBound, kTies);
}

INSTANTIATE_TEST_SUITE_P(All, CudaCheckpoints,
                         ::testing::Values("gptq", "gptq_desc_act", "gptq_act_order", "awq", "fp8", "ct_ints",
                                           "ct_nvfp4", "ct_mxfp4", "modelopt_moe", "mlx_4", "mlx_qwen3_moe",
                                           "mlx_gpt_oss"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inferflux::model
