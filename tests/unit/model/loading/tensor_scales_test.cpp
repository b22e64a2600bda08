// Tensors NAME.scale, in files with NVFP4 weights: a scale for all of NAME's weights, or one for each expert.
#include <gmock/gmock.h>

#include <limits>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/reference/reference_backend.h"
#include "model/families/expect_golden.h"
#include "model/families/load_runner.h"
#include "model/loading/scaled_model.h"
#include "support/cpu_isas.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

using ::testing::AllOf;
using testing::EditedModel;
using ::testing::HasSubstr;
using testing::ModelEdits;
using ::testing::Not;

constexpr double kBound = 1e-4;

// Dense models, with biases beside the scales, and MoE models with and without a shared expert.
class TensorScales : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string path_ = testing::ScaledModel(GetParam());
  const std::string golden_ = testing::ModelPath(GetParam() + std::string(".golden.gguf"));
};

TEST_P(TensorScales, ScaleWhatMatmulsYield) {
  compute::Reference::Context context;
  testing::ExpectGolden<compute::Reference>(context, path_, golden_, kBound);
}

TEST_P(TensorScales, ScaleWhatMatmulsYieldOnTheCpu) {
  ThreadPool pool(2);
  for (const CpuIsa isa : inferflux::testing::RunnableIsas()) {
    SCOPED_TRACE(CpuIsaName(isa));
    compute::Cpu::Context context(pool, isa);
    testing::ExpectGolden<compute::Cpu>(context, path_, golden_, kBound);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TensorScales, ::testing::Values("llama", "qwen2", "mixtral", "qwen2_moe"),
                         [](const auto& info) { return std::string(info.param); });

// The result of loading: an error, or the logged text.
template <class B = compute::Reference>
std::string SaidOf(const std::string& path) {
  typename B::Context context;
  ::testing::internal::CaptureStderr();
  const auto runner = testing::LoadRunner<B>(context, path);
  const std::string logged = ::testing::internal::GetCapturedStderr();
  return runner ? logged : runner.error().message;
}

std::string SaidOfLlama(const std::string& name, std::vector<float> values) {
  return SaidOf(EditedModel("llama", ModelEdits{.added = {{name, std::move(values)}}}));
}

TEST(TensorScalesOfFiles, AreNotCalledUnused) {
  EXPECT_THAT(SaidOf(testing::ScaledModel("mixtral")), Not(HasSubstr("does not use")));
  EXPECT_THAT(SaidOfLlama("blk.0.attn_norm.scale", {2.0f}), HasSubstr("blk.0.attn_norm.scale"));
}

TEST(TensorScalesOfFiles, ThatContradictTheirWeightsAreRefused) {
  EXPECT_THAT(SaidOfLlama("blk.0.attn_q.scale", {1.0f, 2.0f}),
              AllOf(HasSubstr("'blk.0.attn_q.scale'"), HasSubstr("[1, 2]")));
  EXPECT_THAT(SaidOfLlama("blk.1.ffn_up.scale", {std::numeric_limits<float>::quiet_NaN()}),
              AllOf(HasSubstr("'blk.1.ffn_up.scale'"), HasSubstr("finite")));
  EXPECT_THAT(SaidOfLlama("token_embd.scale", {2.0f}), HasSubstr("'token_embd.scale'"));
}

struct Bare : compute::Reference {
  static void ScaleColumns() = delete;
};

TEST(TensorScalesOfFiles, NeedABackendThatMultipliesByThem) {
  EXPECT_THAT(SaidOf<Bare>(testing::ScaledModel("llama")), HasSubstr("needs TensorScales"));
}

}  // namespace
}  // namespace inferflux::model
