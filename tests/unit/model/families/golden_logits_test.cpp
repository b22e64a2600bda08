// Compares every family's logits with transformers', position by position: a prompt in one step, then one token per
// step.
#include <string>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/reference/reference_backend.h"
#include "model/families/expect_golden.h"
#include "support/cpu_isas.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

constexpr double kBound = 1e-4;
constexpr double kInt8Bound = 5e-2;  // for integer weights with 8-bit activations
constexpr int kTies = 2;             // of 56 positions, for MoE models

class GoldenLogits : public ::testing::TestWithParam<std::string> {
 protected:
  std::string model() const { return testing::ModelPath(GetParam() + ".gguf"); }
  std::string golden() const { return testing::ModelPath(GetParam() + ".golden.gguf"); }
};

TEST_P(GoldenLogits, ReferenceEqualsTransformers) {
  compute::Reference::Context context;
  testing::ExpectGolden<compute::Reference>(context, model(), golden(), kBound);
}

TEST_P(GoldenLogits, CpuEqualsTransformersOnEveryInstructionSet) {
  const bool floats = testing::IsFloat(model());
  ThreadPool pool(2);
  for (const CpuIsa isa : inferflux::testing::RunnableIsas()) {
    SCOPED_TRACE(CpuIsaName(isa));
    compute::Cpu::Context context(pool, isa);
    testing::ExpectGolden<compute::Cpu>(context, model(), golden(), floats ? kBound : kInt8Bound, floats ? 0 : kTies);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenLogits, ::testing::ValuesIn(testing::GoldenModels("logits", ".gguf")),
                         [](const auto& info) { return info.param; });

TEST(GoldenModels, AreAllThere) { EXPECT_GE(testing::GoldenModels("logits", ".gguf").size(), 22u); }

// The same weights as saved by transformers: a directory with config.json and safetensors.
class GoldenDirectory : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenDirectory, ReferenceEqualsTransformers) {
  compute::Reference::Context context;
  testing::ExpectGolden<compute::Reference>(context, testing::ModelPath(GetParam() + "-hf"),
                                            testing::ModelPath(GetParam() + ".golden.gguf"), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenDirectory, ::testing::ValuesIn(testing::GoldenModels("logits", "-hf")),
                         [](const auto& info) { return info.param; });

// Quantised checkpoints, compared with transformers on dequantised weights (tools/checkpoint_golden.py,
// tools/compressed_golden.py, tools/mlx_golden.py).
class GoldenCheckpoint : public ::testing::TestWithParam<std::pair<const char*, double>> {
 protected:
  std::string Path(const char* end) const { return testing::DataPath("checkpoints/") + GetParam().first + end; }
};

TEST_P(GoldenCheckpoint, ReferenceEqualsTransformers) {
  compute::Reference::Context context;
  testing::ExpectGolden<compute::Reference>(context, Path("-hf"), Path(".golden.gguf"), kBound);
}

TEST_P(GoldenCheckpoint, CpuIsAsCloseAsItsTypesAre) {
  ThreadPool pool(2);
  const auto isa = compute::cpu::SelectCpuIsa();
  ASSERT_TRUE(isa) << isa.error().message;
  compute::Cpu::Context context(pool, *isa);
  testing::ExpectGolden<compute::Cpu>(context, Path("-hf"), Path(".golden.gguf"), GetParam().second,
                                      GetParam().second > kBound ? kTies : 0);
}

// Weights in a packed integer format use 8-bit activations, and BF16 weights use BF16 activations.
INSTANTIATE_TEST_SUITE_P(All, GoldenCheckpoint,
                         ::testing::Values(std::pair{"gptq", kInt8Bound}, std::pair{"gptq_desc_act", kInt8Bound},
                                           std::pair{"gptq_act_order", kInt8Bound}, std::pair{"awq", kInt8Bound},
                                           std::pair{"fp8", kBound}, std::pair{"ct_ints", kInt8Bound},
                                           std::pair{"ct_nvfp4", kInt8Bound}, std::pair{"ct_mxfp4", kInt8Bound},
                                           std::pair{"modelopt_moe", kInt8Bound}, std::pair{"mlx_4", kInt8Bound},
                                           std::pair{"mlx_8", kBound}, std::pair{"mlx_qwen3_moe", kInt8Bound},
                                           std::pair{"mlx_qwen2_moe", kInt8Bound}, std::pair{"mlx_mixtral", kBound},
                                           std::pair{"mlx_plain_moe", 1e-2}, std::pair{"mlx_gpt_oss", kInt8Bound}),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace inferflux::model
